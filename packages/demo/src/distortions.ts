import {
  asString,
  parseJson,
  type ChatChunk,
  type ChatChunkChoice,
  type ChatCompletion,
  type ChatDelta,
  type ChatToolCallDelta,
  type JsonObject,
} from "@deltawire/wire";

/** Rewrites standard chunks to those of a server with a quirk. */
export type ChunkDistortion = (chunks: readonly ChatChunk[]) => ChatChunk[];

export const stopWithCalls: ChunkDistortion = (chunks) =>
  mapChunkChoices(chunks, (choice) =>
    choice.finish_reason === "tool_calls" ? { ...choice, finish_reason: "stop" } : choice,
  );

export const omitIndex: ChunkDistortion = (chunks) =>
  mapChunkCalls(chunks, (call) => omitField(call, "index"));

export const repeatIndex: ChunkDistortion = (chunks) =>
  mapChunkCalls(chunks, (call) => ({ ...call, index: 0 }));

export const omitIds: ChunkDistortion = (chunks) =>
  mapChunkCalls(chunks, (call) => omitField(call, "id"));

export const omitUsage: ChunkDistortion = (chunks) =>
  chunks.filter((chunk) => chunk.usage === undefined);

export const omitFinish: ChunkDistortion = (chunks) =>
  chunks.filter((chunk) => !chunk.choices?.some((choice) => choice.finish_reason));

/** Puts the usage into the last choice, like Moonshot. */
export const moveUsageToChoice: ChunkDistortion = (chunks) => {
  const usage = chunks.find((chunk) => chunk.usage !== undefined)?.usage;
  return mapChunkChoices(omitUsage(chunks), (choice) =>
    choice.finish_reason ? { ...choice, usage } : choice,
  );
};

/** Repeats the arguments so far in every delta. */
export const accumulateArguments: ChunkDistortion = (chunks) => {
  const argumentsByCall = new Map<string, string>();
  return mapChunkCalls(chunks, (call, choice) => {
    const key = `${choice.index} ${call.index}`;
    const joinedArguments = (argumentsByCall.get(key) ?? "") + asString(call.function?.arguments);
    argumentsByCall.set(key, joinedArguments);
    return call.function
      ? { ...call, function: { ...call.function, arguments: joinedArguments } }
      : call;
  });
};

/** Sends the name of a call in two chunks. */
export const splitName: ChunkDistortion = (chunks) =>
  chunks.flatMap((chunk) => {
    const call = chunk.choices?.[0]?.delta?.tool_calls?.[0];
    const name = call?.function?.name;
    if (!call || !name) return [chunk];
    const half = Math.ceil(name.length / 2);
    return [
      ...mapChunkCalls([chunk], () => ({ ...call, function: { name: name.slice(0, half) } })),
      ...mapChunkCalls([chunk], () => ({
        index: call.index ?? 0,
        function: { name: name.slice(half), arguments: "" },
      })),
    ];
  });

/** Sends each call in one delta, with its arguments as an object. */
export const sendArgumentsAsObject: ChunkDistortion = (chunks) => {
  const completeArguments = new Map<string, string>();
  mapChunkCalls(chunks, (call, choice) => {
    const key = `${choice.index} ${call.index}`;
    completeArguments.set(
      key,
      (completeArguments.get(key) ?? "") + asString(call.function?.arguments),
    );
    return call;
  });
  const openingChunks = chunks.filter((chunk) =>
    (chunk.choices?.[0]?.delta?.tool_calls ?? []).every((call) => call.id),
  );
  return mapChunkCalls(openingChunks, (call, choice) => {
    const text = completeArguments.get(`${choice.index} ${call.index}`) ?? "";
    return call.function
      ? { ...call, function: { ...call.function, arguments: parseJson(text) ?? text } }
      : call;
  });
};

/** Sends reasoning in `<think>` tags in the content instead of a separate field. */
export const useThinkTags: ChunkDistortion = (chunks) => {
  const thinkingIndexes = new Set<number | undefined>();
  return mapChunkChoices(chunks, (choice) => {
    const { delta = {}, index } = choice;
    const isThinking = typeof delta.reasoning_content === "string";
    if (isThinking === thinkingIndexes.has(index) && !isThinking) return choice;
    const tag =
      isThinking === thinkingIndexes.has(index) ? "" : isThinking ? "<think>" : "</think>";
    if (isThinking) thinkingIndexes.add(index);
    else thinkingIndexes.delete(index);
    const { reasoning_content: reasoning, ...rest } = delta;
    const content = typeof rest.content === "string" ? rest.content : "";
    return {
      ...choice,
      delta: { ...rest, content: tag + (reasoning ?? content) } satisfies ChatDelta,
    };
  });
};

/** Like `ChunkDistortion`, for replies that are not streamed. */
export type CompletionDistortion = (reply: ChatCompletion) => JsonObject;

export const stopWithCallsInCompletion: CompletionDistortion = (reply) =>
  mapChoices(reply, (choice) => ({ ...choice, finish_reason: "stop" }));

export const useThinkTagsInCompletion: CompletionDistortion = (reply) =>
  mapChoices(reply, (choice) => {
    const { reasoning_content: reasoning, ...message } = choice.message;
    const content = reasoning
      ? `<think>${reasoning}</think>${message.content ?? ""}`
      : message.content;
    return { ...choice, message: { ...message, content } };
  });

export const omitUsageInCompletion: CompletionDistortion = (reply) =>
  omitField({ ...reply } as JsonObject, "usage");

export const moveUsageToChoiceInCompletion: CompletionDistortion = ({ usage, ...reply }) =>
  mapChoices(reply, (choice) => ({ ...choice, usage }));

export const omitIdsInCompletion: CompletionDistortion = (reply) =>
  mapCalls(reply, (call) => omitField(call, "id"));

export const sendArgumentsAsObjectInCompletion: CompletionDistortion = (reply) =>
  mapCalls(reply, (call) => {
    const fn = call["function"] as JsonObject | undefined;
    if (typeof fn?.["arguments"] !== "string") return call;
    const parsedArguments = parseJson(fn["arguments"]);
    return { ...call, function: { ...fn, arguments: parsedArguments } };
  });

function omitField<T extends object>(value: T, field: keyof T): T {
  const copy = { ...value };
  delete copy[field];
  return copy;
}

function mapChunkChoices(
  chunks: readonly ChatChunk[],
  transform: (choice: ChatChunkChoice) => ChatChunkChoice,
): ChatChunk[] {
  return chunks.map((chunk) =>
    chunk.choices === undefined ? chunk : { ...chunk, choices: chunk.choices.map(transform) },
  );
}

function mapChunkCalls(
  chunks: readonly ChatChunk[],
  transform: (call: ChatToolCallDelta, choice: ChatChunkChoice) => ChatToolCallDelta,
): ChatChunk[] {
  return mapChunkChoices(chunks, (choice) => {
    const calls = choice.delta?.tool_calls;
    if (!calls) return choice;
    const changedCalls = calls.map((call) => transform(call, choice));
    return { ...choice, delta: { ...choice.delta, tool_calls: changedCalls } };
  });
}

function mapChoices(
  reply: ChatCompletion,
  transform: (choice: ChatCompletion["choices"][number]) => object,
): JsonObject {
  return { ...reply, choices: reply.choices.map(transform) } as JsonObject;
}

function mapCalls(reply: ChatCompletion, transform: (call: JsonObject) => JsonObject): JsonObject {
  return mapChoices(reply, (choice) => {
    const calls = choice.message.tool_calls;
    if (calls === undefined) return choice;
    const message = { ...choice.message, tool_calls: calls.map((call) => transform({ ...call })) };
    return { ...choice, message };
  });
}
