import type { RoundNotes } from "../model.ts";

export interface RoundWarning {
  code: "reply_repaired" | "model_retried";
  message: string;
  attempt?: number;
}

/** What people are told of a round besides its words: that its reply was mended, and that it was asked for more than once. */
export function warningsOf({
  repairs = {},
  attempts = 1,
  upstream,
  lessons = [],
}: RoundNotes): RoundWarning[] {
  const warnings: RoundWarning[] = [];
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
