import { reportFields, type FieldReport } from "../field-report.ts";
import type { JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";

export interface ReportDroppedOptions {
  /** The request to the upstream. */
  body: JsonObject;
  /** The upstream's field for each field that is translated. */
  targets: Readonly<Record<string, string | readonly string[]>>;
  /** Fields that only concern the reply. Dropping them is no repair. */
  ignored: ReadonlySet<string>;
  report: FieldReport;
  repairs: Repairs;
}

/** Reports what happened to the fields of a request, and counts those that the Messages API does not have. */
export function reportMessagesFields(
  request: JsonObject,
  { body, targets, ignored, report, repairs }: ReportDroppedOptions,
): void {
  const reasons: Record<string, string> = {};
  for (const name of Object.keys(targets)) reasons[name] = "not needed, or not possible here";
  for (const name of ignored) reasons[name] = "concerns only the reply";
  const known = new Set(report.outcomes.map(({ path }) => path));
  reportFields(request, body, report, {
    targets,
    reasons,
    defaultReason: "not part of the Messages API",
  });
  for (const { path, outcome } of report.outcomes)
    if (outcome === "dropped" && !known.has(path) && !Object.hasOwn(reasons, path))
      repairs.add("parameter_dropped", path);
}
