import type { ChatOutput } from "@deltawire/wire";

/**
 * What is wrong with a sequence of repaired Chat chunks, in words; empty if any Chat client can read it: whole
 * envelopes with one id, calls that open once with id and name at dense indexes, one finish a choice and nothing of
 * the choice after it, and either an error or the sentinel at the end.
 */
export function chatSequenceFaults(outputs: readonly ChatOutput[]): string[] {
  const faults: string[] = [];
  const ids = new Set<unknown>();
  const finished = new Set<number>();
  const seen = new Set<number>();
  const calls = new Map<string, string>();
  const last = outputs.at(-1);
  const failed = typeof last === "object" && last.error !== undefined;
  if (last !== "[DONE]" && !failed) faults.push("neither [DONE] nor an error at the end");

  outputs.forEach((output, nth) => {
    const fault = (text: string): void => void faults.push(`#${nth}: ${text}`);
    if (output === "[DONE]" || output.error !== undefined) {
      if (nth !== outputs.length - 1) fault("the end is not the last");
      return;
    }
    ids.add(output.id);
    if (typeof output.id !== "string" || output.id === "") fault("no id");
    if (output.object !== "chat.completion.chunk") fault(`object ${String(output.object)}`);
    if (typeof output.created !== "number") fault("no created");
    if (typeof output.model !== "string") fault("no model");
    if (!Array.isArray(output.choices)) return fault("no choices");
    if (output.usage !== undefined && output.usage !== null && output.choices.length > 0)
      fault("usage beside choices");
    for (const choice of output.choices) {
      const index = choice.index ?? -1;
      seen.add(index);
      if (finished.has(index)) fault(`choice ${index} goes on after its finish`);
      if (typeof choice.delta !== "object") fault("no delta");
      if (choice.finish_reason) finished.add(index);
      if (Array.isArray(choice.delta?.content)) fault("content is a list");
      for (const call of choice.delta?.tool_calls ?? []) {
        const key = `${index}/${call.index}`;
        const described = call.function ?? call.custom;
        if (!calls.has(key)) {
          if (!call.id || !described?.name || !call.type)
            fault(`call ${key} opens without id, name or type`);
          const ofChoice = [...calls.keys()].filter((known) =>
            known.startsWith(`${index}/`),
          ).length;
          if (call.index !== ofChoice) fault(`call index ${call.index}, expected ${ofChoice}`);
          if ([...calls.values()].includes(`${index} ${call.id}`))
            fault(`call id ${call.id} twice`);
          calls.set(key, `${index} ${call.id}`);
        } else if (call.id !== undefined || described?.name !== undefined)
          fault(`call ${key} is named again`);
      }
    }
  });
  if (ids.size > 1) faults.push(`several ids: ${[...ids].join(", ")}`);
  if (!failed)
    for (const index of seen)
      if (!finished.has(index)) faults.push(`choice ${index} never finished`);
  return faults;
}
