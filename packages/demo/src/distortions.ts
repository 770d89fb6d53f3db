import {
  asText,
  parseJson,
  type ChatChunk,
  type ChatChunkChoice,
  type ChatCompletion,
  type ChatDelta,
  type ChatToolCallDelta,
  type JsonObject,
} from "@deltawire/wire";

/** How a server that does something wrong would stream what the clean chunks say. */
export type ChunkDistortion = (chunks: readonly ChatChunk[]) => ChatChunk[];

export const stopWithCalls: ChunkDistortion = (chunks) =>
  eachChoice(chunks, (choice) =>
    choice.finish_reason === "tool_calls" ? { ...choice, finish_reason: "stop" } : choice,
  );

export const withoutIndex: ChunkDistortion = (chunks) =>
  eachCall(chunks, (call) => without(call, "index"));

export const withSameIndex: ChunkDistortion = (chunks) =>
  eachCall(chunks, (call) => ({ ...call, index: 0 }));

export const withoutIds: ChunkDistortion = (chunks) =>
  eachCall(chunks, (call) => without(call, "id"));

export const withoutUsage: ChunkDistortion = (chunks) =>
  chunks.filter((chunk) => chunk.usage === undefined);

export const withoutFinish: ChunkDistortion = (chunks) =>
  chunks.filter((chunk) => !chunk.choices?.some((choice) => choice.finish_reason));

/** As Moonshot does. */
export const usageInChoice: ChunkDistortion = (chunks) => {
  const usage = chunks.find((chunk) => chunk.usage !== undefined)?.usage;
  return eachChoice(withoutUsage(chunks), (choice) =>
    choice.finish_reason ? { ...choice, usage } : choice,
  );
};

/** Every delta repeats the arguments so far. */
export const snapshots: ChunkDistortion = (chunks) => {
  const soFar = new Map<string, string>();
  return eachCall(chunks, (call, choice) => {
    const key = `${choice.index} ${call.index}`;
    const whole = (soFar.get(key) ?? "") + asText(call.function?.arguments);
    soFar.set(key, whole);
    return call.function ? { ...call, function: { ...call.function, arguments: whole } } : call;
  });
};

/** A name in two halves, which is what a tokenizer makes of it. */
export const splitName: ChunkDistortion = (chunks) =>
  chunks.flatMap((chunk) => {
    const call = chunk.choices?.[0]?.delta?.tool_calls?.[0];
    const name = call?.function?.name;
    if (!call || !name) return [chunk];
    const half = Math.ceil(name.length / 2);
    return [
      ...eachCall([chunk], () => ({ ...call, function: { name: name.slice(0, half) } })),
      ...eachCall([chunk], () => ({
        index: call.index ?? 0,
        function: { name: name.slice(half), arguments: "" },
      })),
    ];
  });

/** Each call in one delta, its arguments not as text but as an object. */
export const objectArguments: ChunkDistortion = (chunks) => {
  const texts = new Map<string, string>();
  eachCall(chunks, (call, choice) => {
    const key = `${choice.index} ${call.index}`;
    texts.set(key, (texts.get(key) ?? "") + asText(call.function?.arguments));
    return call;
  });
  const opening = chunks.filter((chunk) =>
    (chunk.choices?.[0]?.delta?.tool_calls ?? []).every((call) => call.id),
  );
  return eachCall(opening, (call, choice) => {
    const text = texts.get(`${choice.index} ${call.index}`) ?? "";
    return call.function
      ? { ...call, function: { ...call.function, arguments: parseJson(text) ?? text } }
      : call;
  });
};

/** `<think>` in the content instead of a field of its own. */
export const thinkTags: ChunkDistortion = (chunks) => {
  const thinking = new Set<number | undefined>();
  return eachChoice(chunks, (choice) => {
    const { delta = {}, index } = choice;
    const isThinking = typeof delta.reasoning_content === "string";
    if (isThinking === thinking.has(index) && !isThinking) return choice;
    const tag = isThinking === thinking.has(index) ? "" : isThinking ? "<think>" : "</think>";
    if (isThinking) thinking.add(index);
    else thinking.delete(index);
    const { reasoning_content: thought, ...said } = delta;
    const content = typeof said.content === "string" ? said.content : "";
    return {
      ...choice,
      delta: { ...said, content: tag + (thought ?? content) } satisfies ChatDelta,
    };
  });
};

/** The same for replies that come whole. */
export type WholeDistortion = (reply: ChatCompletion) => JsonObject;

export const wholeStopWithCalls: WholeDistortion = (reply) =>
  changed(reply, (choice) => ({ ...choice, finish_reason: "stop" }));

export const wholeThinkTags: WholeDistortion = (reply) =>
  changed(reply, (choice) => {
    const { reasoning_content: thought, ...message } = choice.message;
    const content = thought ? `<think>${thought}</think>${message.content ?? ""}` : message.content;
    return { ...choice, message: { ...message, content } };
  });

export const wholeWithoutUsage: WholeDistortion = (reply) =>
  without({ ...reply } as JsonObject, "usage");

export const wholeUsageInChoice: WholeDistortion = ({ usage, ...reply }) =>
  changed(reply, (choice) => ({ ...choice, usage }));

export const wholeWithoutIds: WholeDistortion = (reply) =>
  changedCalls(reply, (call) => without(call, "id"));

export const wholeObjectArguments: WholeDistortion = (reply) =>
  changedCalls(reply, (call) => {
    const called = call["function"] as JsonObject | undefined;
    if (typeof called?.["arguments"] !== "string") return call;
    const parsed = parseJson(called["arguments"]);
    return { ...call, function: { ...called, arguments: parsed } };
  });

function without<T extends object>(value: T, field: keyof T): T {
  const copy = { ...value };
  delete copy[field];
  return copy;
}

function eachChoice(
  chunks: readonly ChatChunk[],
  change: (choice: ChatChunkChoice) => ChatChunkChoice,
): ChatChunk[] {
  return chunks.map((chunk) =>
    chunk.choices === undefined ? chunk : { ...chunk, choices: chunk.choices.map(change) },
  );
}

function eachCall(
  chunks: readonly ChatChunk[],
  change: (call: ChatToolCallDelta, choice: ChatChunkChoice) => ChatToolCallDelta,
): ChatChunk[] {
  return eachChoice(chunks, (choice) => {
    const calls = choice.delta?.tool_calls;
    if (!calls) return choice;
    const changed = calls.map((call) => change(call, choice));
    return { ...choice, delta: { ...choice.delta, tool_calls: changed } };
  });
}

function changed(
  reply: ChatCompletion,
  change: (choice: ChatCompletion["choices"][number]) => object,
): JsonObject {
  return { ...reply, choices: reply.choices.map(change) } as JsonObject;
}

function changedCalls(reply: ChatCompletion, change: (call: JsonObject) => JsonObject): JsonObject {
  return changed(reply, (choice) => {
    const calls = choice.message.tool_calls;
    if (calls === undefined) return choice;
    const message = { ...choice.message, tool_calls: calls.map((call) => change({ ...call })) };
    return { ...choice, message };
  });
}
