import type { AnswerVersion } from "../shapes.ts";

/** Who gave an answer. */
export function answerSpeaker(chain: readonly AnswerVersion[]): string {
  const names = chain.map(
    ({ model, agent, by }) => model ?? agent ?? (by === "user" ? "by hand" : ""),
  );
  const told = [...new Set(names)].filter((name) => name !== "").join(", ");
  return told === "" ? "Assistant" : `Assistant (${told})`;
}

/** How it ended, if not well. */
export function answerFacts({ status, error }: AnswerVersion): string[] {
  const facts: string[] = [];
  if (error !== undefined) facts.push(`Error (${error.phase}, ${error.code}): ${error.message}`);
  else if (status === "error") facts.push("Error");
  if (status === "aborted") facts.push("This answer was stopped.");
  if (status === "timeout") facts.push("This answer took too long and was ended.");
  if (status === "running") facts.push("This answer was still being written.");
  return facts;
}
