/** The lowest budget that the API accepts. */
export const minThinkingBudget = 1024;
/** The part of `max_tokens` that thinking may use, so that the answer has room. */
const maxShare = 0.8;

/** Returns a thinking budget for requests with this `max_tokens`, or undefined if that is too low for thinking. */
export function limitThinkingBudget(budget: number, maxTokens: number): number | undefined {
  const limited = Math.min(budget, Math.floor(maxTokens * maxShare));
  return limited < minThinkingBudget ? undefined : limited;
}
