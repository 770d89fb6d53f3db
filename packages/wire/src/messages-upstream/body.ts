import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { extractReplyError, isErrorValue } from "../mapping/upstream-error.ts";
import { ReplyBody, type ReplyBodyOptions } from "../reply-body.ts";
import type { UpstreamMessageEvent } from "../shapes/messages-reply.ts";
import { DeltaReader } from "./delta-reader.ts";

export type { UpstreamMessageEvent };

/** Decodes the body of a Messages upstream's reply. A complete (JSON) reply results in its first and last event. */
export class MessagesBody extends ReplyBody<UpstreamMessageEvent> {
  constructor(options: ReplyBodyOptions<UpstreamMessageEvent>) {
    const { redact = (input) => input, repairs } = options;
    const deltas = new DeltaReader();
    super(options, {
      onEvent({ data, event }, out) {
        // Like Chat chunks, such deltas equal one that `redact` did not change, apart from the model's output.
        const delta = deltas.read(data);
        if (delta !== undefined) {
          out.push(delta);
          return options.passthrough === true && event === delta.type;
        }
        const value = parseJson(data);
        if (!isObject(value)) {
          const text = data.trim();
          if (text !== "" && text !== "[DONE]") repairs.add("event_not_json", text);
          return false;
        }
        const type = nonEmptyString(value["type"]);
        if (type === undefined) {
          const isError = isErrorValue(value["error"]) || isErrorValue(value["detail"]);
          const error = extractReplyError(value);
          out.push(
            redact(isError ? { type: "error", error } : { ...value, type: event ?? "unknown" }),
          );
          return false;
        }
        const redacted = redact(value as UpstreamMessageEvent);
        out.push(redacted);
        if (redacted === value) deltas.learn(data, redacted, event);
        return options.passthrough === true && redacted === value && event === type;
      },
      readText: (text, position, out) => deltas.readText(text, position, out),
      onCompleteReply: (reply, out) => void out.push(...messageToEvents(reply)),
      onError: (error, out) => void out.push({ type: "error", error }),
    });
  }
}

/** Converts a complete reply to events. The first one has all the content, as Anthropic also streams some replies. */
export function messageToEvents(reply: JsonObject): UpstreamMessageEvent[] {
  if (!isObject(reply))
    return [{ type: "error", error: "the upstream's reply is not a JSON object" }];
  const isError = reply["type"] === "error" || isErrorValue(reply["error"]);
  if (isError || !Array.isArray(reply["content"]))
    return [{ type: "error", error: extractReplyError(reply) }];
  return [{ type: "message_start", message: reply }, { type: "message_stop" }];
}
