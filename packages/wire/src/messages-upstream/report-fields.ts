import type { FieldReport } from "../field-report.ts";
import type { JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";

export interface ReportFieldsOptions {
  /** The request to the upstream. */
  body: JsonObject;
  /** The upstream's field for each field that is translated. */
  targets: Readonly<Record<string, string>>;
  /** Fields that only concern the reply. Dropping them is no repair. */
  ignored: ReadonlySet<string>;
  report: FieldReport;
  repairs: Repairs;
}

/** Reports what happened to the fields of a request, and counts those that are dropped. */
export function reportFields(
  request: JsonObject,
  { body, targets, ignored, report, repairs }: ReportFieldsOptions,
): void {
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || report.has(name)) continue;
    const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
    if (target !== undefined && body[target] !== undefined) {
      if (target === name) report.preserve(name);
      else report.translate(name, target);
    } else if (target !== undefined) report.drop(name, "not needed, or not possible here");
    else if (ignored.has(name)) report.drop(name, "concerns only the reply");
    else {
      report.drop(name, "not part of the Messages API");
      repairs.add("parameter_dropped", name);
    }
  }
}
