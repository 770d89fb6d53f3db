import type { ChatStreamEvent } from "@deltawire/wire";

/**
 * Returns the faults in a sequence of repaired Chat chunks. It has none if any Chat client can read it: with complete
 * envelopes with one id, calls that open once with id and name at consecutive indexes, one finish reason per choice and
 * nothing after it, and either an error or `[DONE]` at the end.
 */
export function findChatSequenceFaults(outputs: readonly ChatStreamEvent[]): string[] {
  const faults: string[] = [];
  const ids = new Set<unknown>();
  const finishedChoices = new Set<number>();
  const startedChoices = new Set<number>();
  const calls = new Map<string, string>();
  const last = outputs.at(-1);
  const failed = typeof last === "object" && last.error !== undefined;
  if (last !== "[DONE]" && !failed) faults.push("neither [DONE] nor an error at the end");

  outputs.forEach((output, position) => {
    const fault = (text: string): void => void faults.push(`#${position}: ${text}`);
    if (output === "[DONE]" || output.error !== undefined) {
      if (position !== outputs.length - 1) fault("events after the end");
      return;
    }
    ids.add(output.id);
    if (typeof output.id !== "string" || output.id === "") fault("no id");
    if (output.object !== "chat.completion.chunk") fault(`object ${String(output.object)}`);
    if (typeof output.created !== "number") fault("no created");
    if (typeof output.model !== "string") fault("no model");
    if (!Array.isArray(output.choices)) return fault("no choices");
    if (output.usage !== undefined && output.usage !== null && output.choices.length > 0)
      fault("usage in a chunk with choices");
    for (const choice of output.choices) {
      const index = choice.index ?? -1;
      startedChoices.add(index);
      if (finishedChoices.has(index)) fault(`choice ${index} continues after its finish reason`);
      if (typeof choice.delta !== "object") fault("no delta");
      if (choice.finish_reason) finishedChoices.add(index);
      if (Array.isArray(choice.delta?.content)) fault("content is an array");
      for (const call of choice.delta?.tool_calls ?? []) {
        const key = `${index}/${call.index}`;
        const definition = call.function ?? call.custom;
        if (!calls.has(key)) {
          if (!call.id || !definition?.name || !call.type)
            fault(`call ${key} opens without id, name or type`);
          const callCount = [...calls.keys()].filter((existing) =>
            existing.startsWith(`${index}/`),
          ).length;
          if (call.index !== callCount) fault(`call index ${call.index}, expected ${callCount}`);
          if ([...calls.values()].includes(`${index} ${call.id}`))
            fault(`call id ${call.id} twice`);
          calls.set(key, `${index} ${call.id}`);
        } else if (call.id !== undefined || definition?.name !== undefined)
          fault(`call ${key} repeats its id or name`);
      }
    }
  });
  if (ids.size > 1) faults.push(`several ids: ${[...ids].join(", ")}`);
  if (!failed)
    for (const index of startedChoices)
      if (!finishedChoices.has(index)) faults.push(`choice ${index} never finished`);
  return faults;
}
