import type { RoundReport } from "../model.ts";

export interface RoundWarning {
  code: "reply_repaired" | "model_retried" | "options_dropped";
  message: string;
  attempt?: number;
}

/** Returns the warnings that users see about a round: dropped options, repairs and retries. */
export function buildRoundWarnings({
  repairs = {},
  attempts = 1,
  upstream,
  lessons = [],
  droppedOptions = [],
}: RoundReport): RoundWarning[] {
  const warnings: RoundWarning[] = [];
  if (droppedOptions.length > 0) {
    const [is, was] = droppedOptions.length === 1 ? ["is", "was"] : ["are", "were"];
    const server = upstream ?? "the model's server";
    const message = `${droppedOptions.join(", ")} ${is} not supported by ${server} and ${was} not sent`;
    warnings.push({ code: "options_dropped", message });
  }
  const repairCounts = Object.entries(repairs).filter(([, count]) => count > 0);
  if (repairCounts.length > 0)
    warnings.push({
      code: "reply_repaired",
      message: repairCounts.map(([name, count]) => `${count} x ${name}`).join(", "),
    });
  if (attempts > 1 || lessons.length > 0) {
    const attemptsText = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    const upstreamText = upstream === undefined ? "" : ` (last upstream: ${upstream})`;
    const lessonsText = lessons.length === 0 ? "" : `; learned: ${lessons.join(", ")}`;
    const message = `${attemptsText}${upstreamText}${lessonsText}`;
    warnings.push({ code: "model_retried", message, attempt: attempts });
  }
  return warnings;
}
