// What pages need of Vega: specifications are compiled and drawn without eval.
import { parse, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";
import { Handler } from "vega-tooltip";

globalThis.vegaCharts = { compile, expressionInterpreter, Handler, parse, View };
