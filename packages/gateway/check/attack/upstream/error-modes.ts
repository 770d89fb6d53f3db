import type { JsonObject } from "@deltawire/wire";
import {
  buildChunk,
  buildResponse,
  formatFirstEvent,
  formatResponseEvents,
} from "./good-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

/* Errors in every format of providers, with the key in them, which must not reach a client. */

/** Builds the body of an error with a message, by the provider or server that sends it. */
const shapes: Record<string, (message: string) => JsonObject> = {
  OpenAI: (message) => ({ error: { message, type: "server_error", param: null, code: "x" } }),
  "OpenAI with the message in every field": (message) => ({
    error: {
      message,
      type: message,
      param: message,
      code: message,
      details: [message, { deep: message }],
    },
  }),
  "a server with a string as error": (message) => ({ error: message }),
  "a server with only a code": (message) => ({ error: { code: message } }),
  vLLM: (message) => ({
    object: "error",
    message,
    type: "BadRequestError",
    param: null,
    code: 400,
  }),
  OpenRouter: (message) => ({
    error: {
      code: 502,
      message: "Provider returned error",
      metadata: { raw: message, provider_name: message },
    },
  }),
  "a choice of OpenRouter": (message) =>
    buildChunk([
      {
        index: 0,
        delta: { content: "" },
        finish_reason: "error",
        error: { code: 502, message, metadata: { raw: message } },
      },
    ]),
  FastAPI: (message) => ({ detail: message }),
  "FastAPI with a list": (message) => ({
    detail: [{ loc: ["body", message], msg: message, type: "value_error", input: message }],
  }),
  Google: (message) => ({
    error: {
      code: 400,
      message,
      status: "INVALID_ARGUMENT",
      details: [{ "@type": "x", reason: message }],
    },
  }),
  "a list of Google": (message) => [{ error: { code: 400, message } }] as unknown as JsonObject,
  Anthropic: (message) => ({
    type: "error",
    error: { type: "invalid_request_error", message },
  }),
  AWS: (message) => ({ message, __type: "ValidationException" }),
  Azure: (message) => ({
    error: { innererror: { code: "x", content_filter_result: { note: message } }, message },
  }),
  Cloudflare: (message) => ({
    success: false,
    errors: [{ code: 1, message }],
    messages: [message],
  }),
  "problem+json": (message) => ({
    type: "about:blank",
    title: message,
    detail: message,
    status: 400,
  }),
  "msg and code": (message) => ({ code: 1113, msg: message }),
  "base_resp of MiniMax": (message) => ({ base_resp: { status_code: 1004, status_msg: message } }),
  "JSON in a text": (message) => ({
    error: { message: JSON.stringify({ error: { message } }) },
  }),
  "JSON in a text in a text": (message) => ({
    error: { message: JSON.stringify(JSON.stringify({ message })) },
  }),
  "a field named after the message": (message) => ({ error: { message: "x", [message]: message } }),
  error_message: (message) => ({ error_message: message, reason: message, description: message }),
};

const statuses = [400, 401, 403, 404, 422, 429, 500, 503];

/** Lengths at which texts are truncated. A key that starts just before one of them must not be sent in part. */
const truncationLengths = [
  100, 200, 256, 300, 400, 500, 512, 1000, 1024, 2000, 2048, 4000, 4096, 8000, 8192, 10_000,
];

const keyStarts = [1, 2, 8, 9, 15, 20, 30, 37, 38];

const buildErrorMessage = (key: string): string =>
  `Incorrect API key provided: ${key}. Your key is wrong`;

export const errorModes: readonly UpstreamMode[] = [
  ...Object.entries(shapes).flatMap(([shape, build]): UpstreamMode[] => [
    {
      name: `an error as ${shape} sends it, with the key in it, at every status`,
      variants: statuses.length,
      play: (reply) =>
        reply.json(
          JSON.stringify(build(buildErrorMessage(reply.key))),
          statuses[reply.variant] ?? 400,
        ),
    },
    {
      name: `an error as ${shape} sends it, with the key in it, in a reply of 200`,
      variants: 3,
      play: (reply) => {
        const error = JSON.stringify(build(buildErrorMessage(reply.key)));
        if (!reply.stream) return reply.json(error);
        const prefixes = [
          "",
          formatFirstEvent(reply.wire),
          `${formatFirstEvent(reply.wire)}event: error\n`,
        ];
        return reply.events([`${prefixes[reply.variant]}data: ${error}\n\n`]);
      },
    },
  ]),
  {
    name: "a key at the position where a text is truncated",
    variants: truncationLengths.length * keyStarts.length,
    play: (reply) => {
      const truncationLength = truncationLengths[Math.floor(reply.variant / keyStarts.length)] ?? 0;
      const start = keyStarts[reply.variant % keyStarts.length] ?? 0;
      const text = `${"x".repeat(Math.max(0, truncationLength - start))}${reply.key} ${"y".repeat(200)}`;
      return reply.json(
        JSON.stringify({
          error: { message: text, type: "invalid_request_error", param: null, code: null },
        }),
        400,
      );
    },
  },
  {
    name: "a key at the position where a text is truncated, in a body that is not JSON",
    variants: truncationLengths.length * keyStarts.length,
    play: async (reply) => {
      const truncationLength = truncationLengths[Math.floor(reply.variant / keyStarts.length)] ?? 0;
      const start = keyStarts[reply.variant % keyStarts.length] ?? 0;
      await reply.head(400, { "content-type": "text/plain" });
      await reply.write(
        `${"x".repeat(Math.max(0, truncationLength - start))}${reply.key} ${"y".repeat(200)}`,
      );
      reply.end();
    },
  },
  {
    name: "a key that is split between two network reads of an error",
    variants: 4,
    play: async (reply) => {
      const text = JSON.stringify({ error: { message: buildErrorMessage(reply.key) } });
      const splitIndex = text.indexOf(reply.key) + 20;
      await reply.head(reply.variant < 2 ? 400 : 200, { "content-type": "application/json" });
      await reply.write(text.slice(0, splitIndex));
      await reply.pause(20);
      // In two of them the rest never comes.
      if (reply.variant % 2 === 0) await reply.write(text.slice(splitIndex));
      reply.end();
    },
  },
  {
    name: "a key that is split between two network reads of an event",
    forms: ["streamed"],
    variants: 2,
    play: async (reply) => {
      const text = `${formatFirstEvent(reply.wire)}data: ${JSON.stringify({ error: { message: buildErrorMessage(reply.key) } })}\n\n`;
      const splitIndex = text.indexOf(reply.key) + 20;
      await reply.head(200, { "content-type": "text/event-stream" });
      await reply.write(text.slice(0, splitIndex));
      await reply.pause(20);
      if (reply.variant === 0) await reply.write(text.slice(splitIndex));
      reply.end();
    },
  },
  {
    name: "a key in headers of an error",
    variants: 4,
    play: async (reply) => {
      const name =
        ["www-authenticate", "x-request-id", "retry-after", "location"][reply.variant] ?? "x";
      await reply.head([401, 400, 429, 307][reply.variant] ?? 400, {
        [name]: `Bearer ${reply.key}`,
        "content-type": "application/json",
      });
      await reply.write('{"error":{"message":"no"}}');
      reply.end();
    },
  },
  {
    name: "a key in a page of HTML, in XML, in a reason and in a broken line",
    variants: 4,
    play: async (reply) => {
      const bodies = [
        `<html><body>${reply.key}</body></html>`,
        `<Error><Message>${reply.key}</Message></Error>`,
        "",
        `{"error":{"message":"${reply.key}`,
      ];
      await reply.head(reply.variant === 2 ? `HTTP/1.1 400 ${reply.key}` : 400, {
        "content-type": "text/html",
      });
      await reply.write(bodies[reply.variant] ?? "");
      reply.end();
    },
  },
  {
    name: "a key in an error about a parameter",
    variants: 6,
    play: (reply) => {
      const messages = [
        `Unsupported parameter: 'tools' with ${reply.key}`,
        `${reply.key}: Unrecognized request argument supplied: parallel_tool_calls`,
        `Unsupported value: 'temperature' does not support 0.5 with this model for ${reply.key}.`,
        `Invalid 'messages[0].content': ${reply.key}`,
        `tool_choice is not supported (${reply.key})`,
        `Extra inputs are not permitted, field: 'stream_options', value: ${reply.key}`,
      ];
      return reply.json(
        JSON.stringify({
          error: {
            message: messages[reply.variant],
            type: "invalid_request_error",
            param: null,
            code: "unsupported_parameter",
          },
        }),
        400,
      );
    },
  },
  {
    name: "a failed response with the key in it",
    wires: ["responses"],
    variants: 3,
    play: (reply) => {
      const error = { code: "server_error", message: buildErrorMessage(reply.key) };
      const failedResponse =
        [
          buildResponse({ status: "failed", error }),
          buildResponse({
            status: "incomplete",
            incomplete_details: { reason: buildErrorMessage(reply.key) },
          }),
          buildResponse({ status: "cancelled", error }),
        ][reply.variant] ?? {};
      if (!reply.stream) return reply.json(JSON.stringify(failedResponse));
      return reply.events(
        formatResponseEvents([
          { type: `response.${failedResponse["status"] as string}`, response: failedResponse },
        ]),
      );
    },
  },
  {
    name: "an error of 50 MB",
    variants: 1,
    wires: ["chat"],
    alone: true,
    play: (reply) =>
      reply.json(`{"error":{"message":"${"x".repeat(50_000_000)}${reply.key}"}}`, 400),
  },
  {
    name: "an error of 50 MB in a stream",
    forms: ["streamed"],
    wires: ["chat"],
    alone: true,
    play: (reply) =>
      reply.events([
        formatFirstEvent(reply.wire),
        'data: {"error":{"message":"',
        ...Array<string>(25).fill("x".repeat(1_000_000)),
        `"}}\n\n`,
      ]),
  },
];
