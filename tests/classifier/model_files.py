"""Model files that were changed by someone who knows how their checksum is made."""

from __future__ import annotations

import json
from typing import Any

from bayesieve.classifier.file_content import CHECKSUM, checksum


def signed(content: dict[str, Any]) -> str:
    """The content as a file whose checksum is right, unless there can be none."""
    content = {key: value for key, value in content.items() if key != CHECKSUM}
    try:
        return json.dumps(content | {CHECKSUM: checksum(content)})
    except ValueError:
        return json.dumps(content | {CHECKSUM: "0" * 64})
