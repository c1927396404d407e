"""All figures with a target in one table: runs the scripts that must stay green, one after the other (`make bench`)."""

from __future__ import annotations

import re
import subprocess
import sys
import time

from benchmarks.common.measuring import ROOT, Report, markdown_table, options

SCRIPTS = (
    *("hot_paths", "search", "wrapper_step", "wrapper_sfs", "wrapper_auc", "pairs", "clusters", "filters"),
    *("discretize", "fit", "classes", "predict", "drift", "thresholds", "counterfactuals", "startup"),
)
_TARGET = re.compile(r"(?P<value>[-\d.e+]+(?: \w+)?) \(target: (?P<target>[^,()]+), (?P<reached>reached|MISSED)\)")


def main() -> None:
    """Run every script and list its figures; the exit status is 1 if one of them fails."""
    arguments = options(__doc__).parse_args()
    report = Report("all_ratios", "All figures with a target", arguments)
    rows, failed = [], []
    for name in SCRIPTS:
        begin = time.perf_counter()
        command = [sys.executable, "-m", f"benchmarks.bench_{name}", *(["--quick"] if arguments.quick else [])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        print(f"bench_{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        if done.returncode:
            failed.append(name)
            rows.append([name, "FAILED", "", (done.stderr.strip().splitlines() or ["no output"])[-1]])
        rows += figures(name, done.stdout)
    report.add(markdown_table(["script", "figure", "target", ""], rows))
    report.close(["polars", "pandas", "khiops"])
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


def figures(name: str, output: str) -> list[list[str]]:
    """The figures with a target among the lines that a script printed."""
    rows = []
    for line in output.splitlines():
        for found in _TARGET.finditer(line):
            title = next((cell.strip() for cell in line.split("|") if cell.strip()), "").partition(":")[0]
            what = f"{title[:90]}: {found['value']}"
            rows.append([name, what, found["target"], found["reached"]])
    return rows


if __name__ == "__main__":
    main()
