import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:net";
import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  withProfileFlags,
  type JsonObject,
  type UpstreamProfile,
} from "@deltawire/wire";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import {
  deriveLesson,
  type Lesson,
  type UpstreamRejection,
  type RequestAttempt,
} from "../src/learning/derive-lesson.ts";
import { historyRejectionCases } from "./history-rejection-cases.ts";
import { parameterRejectionCases } from "./parameter-rejection-cases.ts";
import { toolRejectionCases } from "./tool-rejection-cases.ts";
import { sharedData } from "../../../test/shared-data.ts";

const refusalCases = [...historyRejectionCases, ...toolRejectionCases, ...parameterRejectionCases];

describe("a known error", () => {
  test.each(refusalCases)(
    "$title",
    async ({ initialFlags, request, rejects, status = 400, error, expectedLesson }) => {
      const upstream = (body: JsonObject) => (rejects(body) ? { status, body: error } : undefined);
      const { lessons, isAccepted } = await learn(
        request,
        upstream,
        withProfileFlags(genericProfile, initialFlags ?? {}),
      );
      expect(isAccepted).toBe(true);
      expect(lessons.map(({ code }) => code)).toContain(expectedLesson);
      expect(lessons.length).toBeLessThanOrEqual(2);
      for (const { description, providerMessage } of lessons) {
        expect(description).not.toBe("");
        expect(providerMessage.length).toBeGreaterThan(0);
        expect(providerMessage.length).toBeLessThanOrEqual(200);
      }
    },
  );
});

describe("the shared catalog", () => {
  const catalog = sharedData("quirks");
  const quirks = readQuirks();
  let server: ChildProcess | undefined;
  let port = 0;

  beforeAll(async () => {
    if (catalog.isMissing) return;
    port = await freePort();
    server = spawn(process.execPath, [join(catalog.path, "upstream.mjs")], {
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => server?.stdout?.once("data", resolve));
  });

  afterAll(() => void server?.kill());

  test.skipIf(catalog.isMissing)(
    "teaches a gateway with the generic profile what every strict upstream in it accepts",
    async () => {
      const outcomes = await Promise.all(quirks.map(playQuirk));
      expect(outcomes.filter(({ isAccepted }) => !isAccepted)).toEqual([]);
      expect(outcomes.every(({ lessons }) => lessons.length <= 2)).toBe(true);
      const learned = new Set(outcomes.flatMap(({ lessons }) => lessons));
      expect(learned.size).toBeGreaterThan(7);
    },
  );

  async function playQuirk({
    id,
    request,
  }: Quirk): Promise<{ id: string; isAccepted: boolean; lessons: string[] }> {
    const { lessons, isAccepted } = await learn({ stream: true, ...request }, async (body) => {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ ...body, model: `q-${id}` }),
      });
      const text = await reply.text();
      return reply.ok ? undefined : { status: reply.status, body: JSON.parse(text) };
    });
    return { id, isAccepted, lessons: lessons.map(({ code }) => code) };
  }

  interface Quirk {
    id: string;
    class: string;
    rule?: string | null;
    request: JsonObject;
  }

  function readQuirks(): Quirk[] {
    if (catalog.isMissing) return [];
    const file = readFileSync(join(catalog.path, "quirks.json"), "utf8");
    const { quirks: all } = JSON.parse(file) as { quirks: Quirk[] };
    return all.filter((quirk) => quirk.class === "request" && quirk.rule);
  }
});

describe("no lesson", () => {
  const body: JsonObject = {
    model: "m",
    messages: [
      { role: "user", content: "System message must be at the beginning." },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "A" },
    ],
    tools: [{ type: "function", function: { name: "look", strict: true } }],
    max_tokens: 100,
    temperature: 0.2,
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: "high",
  };

  test.each([
    [401, "Incorrect API key provided: sk-…. You can find your API key in your settings."],
    [400, "API key not valid. Please pass a valid API key."],
    [403, "Unsupported parameter: 'temperature'"],
    [404, "The model `m` does not exist or you do not have access to it."],
    [400, "The 'm' model is not supported when using Codex with a ChatGPT account."],
    [429, "Rate limit reached for temperature"],
    [400, "You exceeded your current quota, please check your plan and billing details."],
    [
      400,
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion). Please reduce the length of the messages or max_tokens.",
    ],
    [
      400,
      "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    ],
    [400, "Input is too long for requested model."],
    [400, "the request exceeds the available context size, try increasing it"],
    [413, "Request Entity Too Large"],
    [
      400,
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ],
    [
      400,
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [400, "Tool choice is none, but model called a tool"],
    [400, "m does not support image input"],
    [
      400,
      "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 690848",
    ],
    [400, "registry.ollama.ai/library/gemma:2b does not support tools"],
    [400, "Unsupported parameter: 'tools'"],
    [400, "Unknown parameter: 'logit_bias'."],
    [400, "Invalid request Error"],
    [500, "Internal Server Error"],
    [500, "Unsupported parameter: 'temperature'"],
    [502, "<html><body>Bad gateway</body></html>"],
    [503, "The server is overloaded"],
  ])("is derived from %i %s", (status, message) => {
    for (const error of [{ error: { message } }, { detail: message }, message])
      expect(deriveLesson({ status, body: error }, chatAttempt(body))).toBeUndefined();
  });

  test("is derived from text that a validator quotes from the request", () => {
    const detail = [
      {
        type: "int_parsing",
        loc: ["body", "top_k"],
        msg: "Input should be a valid integer",
        input: "Unknown parameter: 'temperature'",
      },
    ];
    expect(deriveLesson({ status: 422, body: { detail } }, chatAttempt(body))).toBeUndefined();
  });

  test("is derived from images that the model does not support", () => {
    const error = {
      param: "messages.0.user.content.str",
      message: "Input should be a valid string",
    };
    expect(deriveLesson({ status: 422, body: { error } }, chatAttempt(body))).toBeUndefined();
  });

  test("is derived for a parameter that the user has set for this upstream", () => {
    const profile = withProfileFlags(genericProfile, { extraBody: { temperature: 1 } });
    const rejection = { status: 400, body: "Unknown parameter: 'temperature'" };
    expect(deriveLesson(rejection, chatAttempt(body))).toBeDefined();
    expect(deriveLesson(rejection, chatAttempt(body, profile))).toBeUndefined();
  });
});

test("a change without effect is not tried twice", () => {
  const words =
    "'reasoning_effort' does not support 'medium' with this model. Supported values are: 'low' and 'high'.";
  const body = { model: "m", messages: [], reasoning_effort: "medium" };
  const first = deriveLesson({ status: 400, body: words }, chatAttempt(body));
  expect(first?.flags).toEqual({ efforts: ["low", "high"] });
  const profile = withProfileFlags(genericProfile, first?.flags ?? {});
  const second = deriveLesson({ status: 400, body: words }, chatAttempt(body, profile));
  expect(second?.flags).toEqual({ droppedParameters: ["reasoning_effort"] });
});

describe("for any error", () => {
  const errorBody = fc.oneof(
    fc.constantFrom(...refusalCases.map(({ error }) => error)),
    fc.constantFrom(...refusalCases.map(({ error }) => JSON.stringify(error))),
    fc.jsonValue(),
    fc.string(),
    fc.record({
      error: fc.record({ message: fc.string(), param: fc.jsonValue(), code: fc.jsonValue() }),
    }),
    fc.record({ detail: fc.array(fc.record({ loc: fc.jsonValue(), msg: fc.jsonValue() })) }),
  );
  const status = fc.constantFrom(400, 404, 422, 500, 501, 200, 429);
  const sent = fc.oneof(
    fc.constantFrom(
      ...refusalCases.map(({ initialFlags, request }) =>
        translateRequest(request, withProfileFlags(genericProfile, initialFlags ?? {})),
      ),
    ),
    fc.dictionary(
      fc.constantFrom(
        "messages",
        "tools",
        "input",
        "tool_choice",
        "response_format",
        "reasoning",
        "reasoning_effort",
        "seed",
        "store",
        "include",
        "stream",
      ),
      fc.jsonValue() as fc.Arbitrary<JsonObject[string]>,
    ),
  );
  const speaks = fc.constantFrom("chat" as const, "responses" as const);

  test("nothing is thrown, and every lesson changes the request", () => {
    let lessons = 0;
    fc.assert(
      fc.property(status, errorBody, sent, speaks, (code, error, body, wire) => {
        const attempt: RequestAttempt = {
          speaks: wire,
          profile: genericProfile,
          responses: {},
          body,
        };
        const lesson = deriveLesson({ status: code, body: error }, attempt);
        if (lesson === undefined) return;
        // A Chat client's request is not changed by the generic profile until there is a lesson.
        if (lesson.code === "custom_tools" || lesson.code === "tool_result_media") return;
        lessons += 1;
        const changed = withProfileFlags(genericProfile, lesson.flags);
        expect(wire === "chat" ? changed : (lesson.responses ?? {})).not.toEqual(
          wire === "chat" ? genericProfile : {},
        );
      }),
      { numRuns: 3_000 },
    );
    expect(lessons).toBeGreaterThan(10);
  });

  test("an error body of a megabyte is parsed quickly", () => {
    const line = `Invalid JSON payload received. Unknown name "additionalProperties" at 'tools[0].function_declarations[7].parameters': Cannot find field.\n`;
    const messages = [
      line.repeat(8_000),
      "a".repeat(1e6),
      "'".repeat(1e6),
      "[".repeat(1e6),
      "unknown ".repeat(1e5),
    ];
    const took = measureCpuTime(() => {
      for (const message of messages)
        deriveLesson({ status: 400, body: { error: { message } } }, chatAttempt({ seed: 1 }));
    });
    expect(took).toBeLessThan(2_000);
  });
});

type Upstream = (
  body: JsonObject,
) => UpstreamRejection | undefined | Promise<UpstreamRejection | undefined>;

/** Retries like the gateway after each lesson, until the request is accepted or there is no further lesson. */
async function learn(
  request: JsonObject,
  upstream: Upstream,
  base: UpstreamProfile = genericProfile,
): Promise<{ lessons: Lesson[]; isAccepted: boolean }> {
  const lessons: Lesson[] = [];
  let profile = base;
  while (lessons.length < 6) {
    const body = translateRequest(request, profile);
    const rejection = await upstream(body);
    if (rejection === undefined) return { lessons, isAccepted: true };
    const lesson = deriveLesson(rejection, chatAttempt(body, profile));
    if (lesson === undefined) break;
    lessons.push(lesson);
    profile = withProfileFlags(profile, lesson.flags);
  }
  return { lessons, isAccepted: false };
}

function translateRequest(request: JsonObject, profile: UpstreamProfile): JsonObject {
  const decoded = decodeResponsesRequest(structuredClone(request));
  return translateResponsesRequest(decoded, { upstreamModel: "m", profile }).body;
}

function chatAttempt(body: JsonObject, profile: UpstreamProfile = genericProfile): RequestAttempt {
  return { speaks: "chat", profile, responses: {}, body };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
