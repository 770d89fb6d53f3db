import {
  decodeChatRequest,
  decodeMessagesRequest,
  decodeResponsesRequest,
  genericProfile,
  repairChatRequest,
  repairMessagesRequest,
  repairResponsesRequest,
  translateChatRequest,
  translateChatToMessages,
  translateMessagesToChat,
  translateMessagesToResponses,
  translateResponsesRequest,
  translateResponsesToMessages,
  withProfileFlags,
  type FieldOutcome,
  type JsonObject,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";

/* Every field of a request is preserved, translated or dropped, and the result says which, for every pair of wires. */

interface Translation {
  body: object;
  fields: FieldOutcome[];
}
interface Wire {
  request: JsonObject;
  translations: Record<string, (request: JsonObject) => Translation>;
}

const schema = { type: "object", properties: { a: { type: "string" } } };
const strict = withProfileFlags(genericProfile, {
  droppedParameters: ["temperature", "service_tier"],
});

const wires: Record<string, Wire> = {
  Chat: {
    request: {
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: { name: "f", parameters: schema } }],
      tool_choice: "auto",
      parallel_tool_calls: false,
      reasoning_effort: "low",
      response_format: { type: "json_schema", json_schema: { name: "a", schema } },
      max_completion_tokens: 9000,
      temperature: 0.5,
      top_p: 0.9,
      stop: ["END"],
      seed: 1,
      n: 1,
      stream: true,
      stream_options: { include_usage: true },
      service_tier: "auto",
      user: "u",
      prompt_cache_key: "k",
      logprobs: true,
      verbosity: "low",
      tomorrow: 1,
    },
    translations: {
      Chat: (request) => repairChatRequest(decodeChatRequest(request)),
      "strict Chat": (request) =>
        repairChatRequest(decodeChatRequest(request), { profile: strict }),
      Responses: (request) => translateChatRequest(decodeChatRequest(request)),
      "strict Responses": (request) =>
        translateChatRequest(decodeChatRequest(request), {
          droppedParameters: ["temperature", "reasoning.effort"],
        }),
      Messages: (request) => translateChatToMessages(decodeChatRequest(request)),
    },
  },
  Responses: {
    request: {
      model: "m",
      input: "Hi",
      instructions: "Be brief.",
      tools: [{ type: "function", name: "f", parameters: schema }],
      tool_choice: "auto",
      parallel_tool_calls: false,
      reasoning: { effort: "low" },
      text: { format: { type: "json_schema", name: "a", schema } },
      max_output_tokens: 9000,
      temperature: 0.5,
      top_p: 0.9,
      include: ["reasoning.encrypted_content"],
      store: false,
      stream: true,
      truncation: "auto",
      service_tier: "auto",
      user: "u",
      prompt_cache_key: "k",
      client_metadata: { a: "b" },
      tomorrow: 1,
    },
    translations: {
      Chat: (request) => translateResponsesRequest(decodeResponsesRequest(request)),
      "strict Chat": (request) =>
        translateResponsesRequest(decodeResponsesRequest(request), { profile: strict }),
      Responses: (request) => repairResponsesRequest(decodeResponsesRequest(request)),
      "strict Responses": (request) =>
        repairResponsesRequest(decodeResponsesRequest(request), {
          droppedParameters: ["temperature"],
        }),
      Messages: (request) => translateResponsesToMessages(decodeResponsesRequest(request)),
    },
  },
  Messages: {
    request: {
      model: "m",
      max_tokens: 9000,
      messages: [{ role: "user", content: "Hi" }],
      system: "Be brief.",
      tools: [{ name: "f", input_schema: schema }],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      thinking: { type: "adaptive" },
      output_config: { effort: "low", format: { type: "json_schema", schema } },
      temperature: 0.5,
      top_p: 0.9,
      top_k: 3,
      stream: true,
      service_tier: "auto",
      metadata: { user_id: "u" },
      context_management: { edits: [] },
      tomorrow: 1,
    },
    translations: {
      Chat: (request) => translateMessagesToChat(decodeMessagesRequest(request)),
      "strict Chat": (request) =>
        translateMessagesToChat(decodeMessagesRequest(request), { profile: strict }),
      Responses: (request) => translateMessagesToResponses(decodeMessagesRequest(request)),
      "strict Responses": (request) =>
        translateMessagesToResponses(decodeMessagesRequest(request), {
          droppedParameters: ["temperature", "reasoning.effort"],
        }),
      Messages: (request) => repairMessagesRequest(decodeMessagesRequest(request)),
      "strict Messages": (request) =>
        repairMessagesRequest(decodeMessagesRequest(request), {
          droppedParameters: ["temperature"],
        }),
    },
  },
};

const pairs = Object.entries(wires).flatMap(([client, { request, translations }]) =>
  Object.entries(translations).map(
    ([upstream, translate]) => [client, upstream, request, translate] as const,
  ),
);

/** Finds the value at a path such as `reasoning.effort`. */
function findValue(body: object, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as JsonObject)?.[name], body);
}

/** Returns why an outcome does not agree with the upstream's request. */
function findFault(
  { path, outcome, detail }: FieldOutcome,
  request: JsonObject,
  body: object,
): string[] {
  if (path.includes("[]")) return [];
  const value = request[path];
  const isSame = JSON.stringify(findValue(body, path)) === JSON.stringify(value);
  if (outcome === "dropped") {
    // A field of the same name may stand for another one.
    const isLost = !isSame || value === undefined || path === "tool_choice";
    return isLost && detail !== "" ? [] : [`${path} is reported as dropped`];
  }
  const missing = detail.split(", ").filter((target) => findValue(body, target) === undefined);
  if (missing.length > 0) return [`${path}: no ${missing.join(", ")}`];
  if (outcome === "translated" || typeof value === "object" || isSame) return [];
  return [`${path} is reported as preserved`];
}

function toOutcomes(fields: readonly FieldOutcome[]): Record<string, FieldOutcome["outcome"]> {
  return Object.fromEntries(fields.map(({ path, outcome }) => [path, outcome]));
}

describe.each(pairs)("a %s request for a %s upstream", (_client, upstream, request, translate) => {
  test("has an outcome for each field, which its request confirms", () => {
    const { body, fields } = translate(request);
    const paths = fields.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    for (const name of Object.keys(request)) expect(paths).toContain(name);
    expect(fields.flatMap((field) => findFault(field, request, body))).toEqual([]);
  });

  test("reports what the upstream does not take as dropped", () => {
    const { temperature, tomorrow } = toOutcomes(translate(request).fields);
    expect(temperature).toBe(expectTemperature(_client, upstream));
    const isSameWire = upstream.endsWith(_client);
    expect(tomorrow).toBe(isSameWire ? "preserved" : "dropped");
  });

  test("has an outcome for each of any fields", () => {
    const names = fc.subarray(Object.keys(request).filter((name) => name !== "model"));
    fc.assert(
      fc.property(names, (omitted) => {
        const required = ["messages", "input", "max_tokens"];
        const rest = Object.fromEntries(
          Object.entries(request).filter(
            ([name]) => required.includes(name) || !omitted.includes(name),
          ),
        );
        const outcomes = toOutcomes(translate(rest).fields);
        for (const name of Object.keys(rest)) expect(outcomes).toHaveProperty([name]);
      }),
      propertyRuns(30),
    );
  });
});

/** With thinking the Messages API takes no temperature. */
function expectTemperature(client: string, upstream: string): FieldOutcome["outcome"] {
  const isThinking = upstream === "Messages" && client !== "Messages";
  return upstream.startsWith("strict") || isThinking ? "dropped" : "preserved";
}

test("the outcomes name the fields of the upstream", () => {
  const [, , request] = pairs.find(([client]) => client === "Messages") ?? [];
  const { fields } = translateMessagesToChat(decodeMessagesRequest(request));
  const details = Object.fromEntries(fields.map(({ path, detail }) => [path, detail]));
  expect(details).toMatchObject({
    system: "messages",
    max_tokens: "max_tokens",
    "output_config.effort": "reasoning_effort",
    "output_config.format": "response_format",
    tool_choice: "tool_choice, parallel_tool_calls",
  });
});
