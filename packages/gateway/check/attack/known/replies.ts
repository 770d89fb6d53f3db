import type { JsonObject } from "@deltawire/wire";
import { event } from "../../../test/scripted-upstream.ts";
import { chunkWith, goodWord, responseEvents, responseWith } from "../upstream/good-replies.ts";
import type { Play } from "../upstream/hostile-upstream.ts";

/* Replies of upstreams that were once answered wrongly, by the name of the model that gives them. */

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: goodWord, annotations: [] }],
};

/** Good replies in which `error` says that there is none. */
function withoutError(error: unknown): Play {
  return async (reply) => {
    if (reply.wire === "responses") {
      const response = responseWith({ error: error as JsonObject, output: [message] });
      if (!reply.stream) return reply.json(JSON.stringify(response));
      return reply.events(
        responseEvents([
          { type: "response.created", response: responseWith({ status: "in_progress" }) },
          {
            type: "response.output_item.added",
            output_index: 0,
            item: { ...message, content: [] },
          },
          { type: "response.output_item.done", output_index: 0, item: message },
          { type: "response.completed", response },
        ]),
      );
    }
    const more = { error: error as JsonObject };
    if (!reply.stream)
      return reply.json(
        JSON.stringify(
          chunkWith(
            [
              {
                index: 0,
                message: { role: "assistant", content: goodWord },
                finish_reason: "stop",
              },
            ],
            more,
          ),
        ),
      );
    return reply.events([
      event(chunkWith([{ index: 0, delta: { content: goodWord } }], more)),
      event(chunkWith([{ index: 0, delta: {}, finish_reason: "stop" }], more)),
      event("[DONE]"),
    ]);
  };
}

export const knownReplies: Readonly<Record<string, Play>> = {
  "empty-error": withoutError(""),
  "false-error": withoutError(false),
  "null-error": withoutError(null),
  "zero-error": withoutError(0),
  cancelled: (reply) => {
    const response = responseWith({ status: "cancelled" });
    if (!reply.stream) return reply.json(JSON.stringify(response));
    return reply.events(
      responseEvents([
        { type: "response.created", response: responseWith({ status: "in_progress" }) },
        { type: "response.cancelled", response },
      ]),
    );
  },
};

/** A second reply, written into a header: in UTF-8 each letter ends in the byte of CR or LF. */
const lineEnd = "\u010d\u010a";
export const injected = "x-injected";
const splitting = `a${lineEnd}${injected}: yes${lineEnd}${lineEnd}HTTP/1.1 200 OK${lineEnd}content-length: 3${lineEnd}${lineEnd}EVL`;

const forwarded = [
  "content-disposition",
  "content-type",
  "content-language",
  "content-encoding",
  "etag",
  "cache-control",
  "retry-after",
  "x-request-id",
  "openai-processing-ms",
  "x-ratelimit-limit-requests",
  "location",
];

/** A good reply whose header, the so-manieth of `forwarded`, is to end the reply's head early. */
export const splittingReply: Play = async (reply) => {
  const name = forwarded[reply.variant] ?? "x";
  const body = '{"data":[],"object":"list"}';
  await reply.write(
    Buffer.from(
      `HTTP/1.1 200 OK\r\n${name === "content-type" ? "" : "content-type: application/json\r\n"}content-length: ${body.length}\r\n${name}: ${splitting}\r\nconnection: close\r\n\r\n${body}`,
    ),
  );
  reply.end();
};
export const splittingVariants = forwarded.length;
