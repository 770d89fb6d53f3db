import type { RoundNotes } from "../model.ts";

export interface RoundWarning {
  code: "reply_repaired" | "model_retried" | "options_left_out";
  message: string;
  attempt?: number;
}

/** What people are told of a round besides its words: that its reply was mended, and that it was asked for more than once. */
export function warningsOf({
  repairs = {},
  attempts = 1,
  upstream,
  lessons = [],
  leftOut = [],
}: RoundNotes): RoundWarning[] {
  const warnings: RoundWarning[] = [];
  if (leftOut.length > 0) {
    const verb = leftOut.length === 1 ? "is" : "are";
    const server = upstream ?? "the model's server";
    const message = `${leftOut.join(", ")} ${verb} not taken by ${server}: left out`;
    warnings.push({ code: "options_left_out", message });
  }
  const mended = Object.entries(repairs).filter(([, count]) => count > 0);
  if (mended.length > 0)
    warnings.push({
      code: "reply_repaired",
      message: mended.map(([name, count]) => `${count} x ${name}`).join(", "),
    });
  if (attempts > 1 || lessons.length > 0) {
    const answered = upstream === undefined ? "" : `, the last time ${upstream}`;
    const learned = lessons.length === 0 ? "" : `; learned: ${lessons.join(", ")}`;
    const times = attempts === 1 ? "1 time" : `${attempts} times`;
    const message = `asked ${times}${answered}${learned}`;
    warnings.push({ code: "model_retried", message, attempt: attempts });
  }
  return warnings;
}
