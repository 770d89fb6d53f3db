import { isObject, type JsonObject } from "../json.ts";
import { extractReplyError, isErrorValue } from "../mapping/upstream-error.ts";
import { ReplyBody, type ReplyBodyOptions } from "../reply-body.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";
import { ChunkReader, type UpstreamChatEvent } from "./chunk-reader.ts";

/** Decodes the body of a Chat upstream's reply. A complete (JSON) reply results in chunks and `[DONE]`. */
export class ChatBody extends ReplyBody<UpstreamChatEvent> {
  constructor(options: ReplyBodyOptions<UpstreamChatEvent>) {
    const { repairs, redact = (input) => input } = options;
    const reader = new ChunkReader(repairs, redact as (chunk: ChatChunk) => ChatChunk);
    let readCount = 0;
    let unparsedText: string | undefined;
    super(options, {
      onEvent({ data, event }, out) {
        if (data === "") return false;
        const previousRepairCount = repairs.total;
        const input = reader.read(data);
        if (input === undefined) {
          if (!/^\s*(?::|$)/.test(data)) unparsedText ??= data;
          return false;
        }
        // The stream had no chunks, only other text, which is then reported as the error.
        if (input === "[DONE]" && readCount === 0 && unparsedText !== undefined)
          out.push(redact({ error: { message: unparsedText } }));
        readCount += 1;
        // Groq sends a bare error object in an event of type `error`.
        if (event === "error" && input !== "[DONE]" && !isErrorValue(input.error) && !input.choices)
          out.push(redact({ error: input as JsonObject }));
        else out.push(input);
        return repairs.total === previousRepairCount && !reader.wasRedacted;
      },
      onCompleteReply: (reply, out) => void out.push(...completionToChunks(reply), "[DONE]"),
      onError: (error, out) => void out.push({ error }, "[DONE]"),
      onEnd(out) {
        if (readCount === 0 && unparsedText !== undefined)
          out.push({ error: { message: unparsedText } });
      },
    });
  }
}

/** Converts a complete reply into a chunk with the content and one with the usage, for the translators of streams. */
export function completionToChunks(reply: JsonObject): ChatChunk[] {
  const chunk = completionToChunk(reply);
  if (!isObject(chunk.usage)) return [chunk];
  const { usage, ...payload } = chunk;
  return [payload, { ...payload, choices: [], usage }];
}

function completionToChunk(reply: JsonObject): ChatChunk {
  if (!isObject(reply)) return { error: "the upstream's reply is not a JSON object" };
  if (!Array.isArray(reply["choices"])) {
    return { error: extractReplyError(reply) };
  }
  const choices = reply["choices"].filter(isObject).map((choice, position): ChatChunkChoice => {
    const { message, ...rest } = choice;
    const payload = isObject(message) ? message : choice["delta"];
    const delta = isObject(payload) ? { ...payload } : {};
    if (Array.isArray(delta["tool_calls"]))
      delta["tool_calls"] = delta["tool_calls"]
        .filter(isObject)
        .map((call, index) => ({ ...call, index }));
    const index = typeof choice["index"] === "number" ? choice["index"] : position;
    return { ...rest, index, delta };
  });
  return { ...reply, object: "chat.completion.chunk", choices };
}
