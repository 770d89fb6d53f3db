import { isObject, type JsonObject } from "../json.ts";
import { errorOfReply, reportsError } from "../mapping/upstream-error.ts";
import { ReplyBody, type ReplyBodyOptions } from "../reply-body.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";
import { ChunkReader, type ChatInput } from "./chunk-reader.ts";

/** The body of a Chat upstream's reply. A whole reply comes out as one chunk and the sentinel. */
export class ChatBody extends ReplyBody<ChatInput> {
  constructor(options: ReplyBodyOptions<ChatInput>) {
    const { repairs, redact = (input) => input } = options;
    const reader = new ChunkReader(repairs, redact as (chunk: ChatChunk) => ChatChunk);
    let read = 0;
    let unread: string | undefined;
    super(options, {
      event({ data, event }, out) {
        if (data === "") return false;
        const repaired = repairs.total;
        const input = reader.read(data);
        if (input === undefined) {
          if (!/^\s*(?::|$)/.test(data)) unread ??= data;
          return false;
        }
        // Nothing but words that are no chunk, and then the end: these words are the error.
        if (input === "[DONE]" && read === 0 && unread !== undefined)
          out.push(redact({ error: { message: unread } }));
        read += 1;
        // Groq names the event and sends the bare error object.
        if (event === "error" && input !== "[DONE]" && !reportsError(input.error) && !input.choices)
          out.push(redact({ error: input as JsonObject }));
        else out.push(input);
        return repairs.total === repaired && !reader.wasRedacted;
      },
      whole: (reply, out) => void out.push(...chunksOfWholeReply(reply), "[DONE]"),
      error: (error, out) => void out.push({ error }, "[DONE]"),
      end(out) {
        if (read === 0 && unread !== undefined) out.push({ error: { message: unread } });
      },
    });
  }
}

/** A whole reply as the chunks that say the same, so that one machine reads both: what was said, and the usage. */
export function chunksOfWholeReply(reply: JsonObject): ChatChunk[] {
  const chunk = chunkOfWholeReply(reply);
  if (!isObject(chunk.usage)) return [chunk];
  const { usage, ...said } = chunk;
  return [said, { ...said, choices: [], usage }];
}

function chunkOfWholeReply(reply: JsonObject): ChatChunk {
  if (!isObject(reply)) return { error: "the upstream's reply is no JSON object" };
  if (!Array.isArray(reply["choices"])) {
    return { error: errorOfReply(reply) };
  }
  const choices = reply["choices"].filter(isObject).map((choice, position): ChatChunkChoice => {
    const { message, ...rest } = choice;
    const said = isObject(message) ? message : choice["delta"];
    const delta = isObject(said) ? { ...said } : {};
    if (Array.isArray(delta["tool_calls"]))
      delta["tool_calls"] = delta["tool_calls"]
        .filter(isObject)
        .map((call, index) => ({ ...call, index }));
    const index = typeof choice["index"] === "number" ? choice["index"] : position;
    return { ...rest, index, delta };
  });
  return { ...reply, object: "chat.completion.chunk", choices };
}
