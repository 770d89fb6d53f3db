import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { ReplyBody, type ReplyBodyOptions } from "../reply-body.ts";

/** An event of a Responses upstream, as it came: only its `type` is sure. */
export type ResponsesInput = JsonObject & { type: string };

/** The body of a Responses upstream's reply. A whole reply comes out as its terminal event. */
export class ResponsesBody extends ReplyBody<ResponsesInput> {
  constructor(options: ReplyBodyOptions) {
    super(options, {
      event({ data, event }, out) {
        const text = data.trim();
        if (text === "" || text === "[DONE]" || text === "DONE") return false;
        const value = parseJson(text);
        if (!isObject(value)) {
          options.repairs.add("event_not_json", text);
          return false;
        }
        const type = nonEmptyString(value["type"]);
        if (type !== undefined) {
          out.push(value as ResponsesInput);
          return options.relay === true && event === type; // comparing the two takes time
        }
        // Some servers name the event in the event line only.
        out.push({ ...value, type: event ?? (value["error"] === undefined ? "unknown" : "error") });
        return false;
      },
      whole: (reply, out) => void out.push(eventOfWholeReply(reply)),
      error: (error, out) => void out.push({ type: "error", error }),
    });
  }
}

/** A whole reply as the terminal event that says the same. */
export function eventOfWholeReply(reply: JsonObject): ResponsesInput {
  if (!isObject(reply)) return { type: "error", error: "the upstream's reply is no JSON object" };
  const status = nonEmptyString(reply["status"]);
  if (!Array.isArray(reply["output"]) && status === undefined) {
    const said = nonEmptyString(reply["message"]) ?? nonEmptyString(reply["detail"]);
    const error = reply["error"] ?? (said === undefined ? reply : { ...reply, message: said });
    return { type: "error", error };
  }
  return { type: `response.${status ?? "completed"}`, response: reply };
}
