import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:net";
import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  withFlags,
  type JsonObject,
  type Profile,
} from "@deltawire/wire";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { workTime } from "../../../test/work-time.ts";
import { lessonOf, type Lesson, type Refusal, type Tried } from "../src/learning/lessons.ts";
import { refusedHistories } from "./learning-histories.ts";
import { refusedParameters } from "./learning-parameters.ts";
import { refusedTools } from "./learning-tools.ts";
import { sharedData } from "../../../test/shared-data.ts";

const refusalCases = [...refusedHistories, ...refusedTools, ...refusedParameters];

describe("a refusal that is known", () => {
  test.each(refusalCases)(
    "$title",
    async ({ given, request, refuses, status = 400, error, learns }) => {
      const upstream = (body: JsonObject) => (refuses(body) ? { status, body: error } : undefined);
      const { lessons, taken } = await learn(
        request,
        upstream,
        withFlags(genericProfile, given ?? {}),
      );
      expect(taken).toBe(true);
      expect(lessons.map(({ code }) => code)).toContain(learns);
      expect(lessons.length).toBeLessThanOrEqual(2);
      for (const { what, said } of lessons) {
        expect(what).not.toBe("");
        expect(said.length).toBeGreaterThan(0);
        expect(said.length).toBeLessThanOrEqual(200);
      }
    },
  );
});

describe("the shared catalogue", () => {
  const catalogue = sharedData("quirks");
  const quirks = readQuirks();
  let server: ChildProcess | undefined;
  let port = 0;

  beforeAll(async () => {
    if (catalogue.isMissing) return;
    port = await freePort();
    server = spawn(process.execPath, [join(catalogue.path, "upstream.mjs")], {
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => server?.stdout?.once("data", resolve));
  });

  afterAll(() => void server?.kill());

  test.skipIf(catalogue.isMissing)(
    "teaches a gateway with the generic profile to be taken by every strict upstream in it",
    async () => {
      const outcomes = await Promise.all(quirks.map(played));
      expect(outcomes.filter(({ taken }) => !taken)).toEqual([]);
      expect(outcomes.every(({ lessons }) => lessons.length <= 2)).toBe(true);
      const learned = new Set(outcomes.flatMap(({ lessons }) => lessons));
      expect(learned.size).toBeGreaterThan(7);
    },
  );

  async function played({
    id,
    request,
  }: Quirk): Promise<{ id: string; taken: boolean; lessons: string[] }> {
    const { lessons, taken } = await learn({ stream: true, ...request }, async (body) => {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ ...body, model: `q-${id}` }),
      });
      const text = await reply.text();
      return reply.ok ? undefined : { status: reply.status, body: JSON.parse(text) };
    });
    return { id, taken, lessons: lessons.map(({ code }) => code) };
  }

  interface Quirk {
    id: string;
    class: string;
    rule?: string | null;
    request: JsonObject;
  }

  function readQuirks(): Quirk[] {
    if (catalogue.isMissing) return [];
    const file = readFileSync(join(catalogue.path, "quirks.json"), "utf8");
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
  ])("%i %s", (status, message) => {
    for (const error of [{ error: { message } }, { detail: message }, message])
      expect(lessonOf({ status, body: error }, triedChat(body))).toBeUndefined();
  });

  test("of words that a validator repeats from the request", () => {
    const detail = [
      {
        type: "int_parsing",
        loc: ["body", "top_k"],
        msg: "Input should be a valid integer",
        input: "Unknown parameter: 'temperature'",
      },
    ];
    expect(lessonOf({ status: 422, body: { detail } }, triedChat(body))).toBeUndefined();
  });

  test("of pictures that the model cannot see", () => {
    const error = {
      param: "messages.0.user.content.str",
      message: "Input should be a valid string",
    };
    expect(lessonOf({ status: 422, body: { error } }, triedChat(body))).toBeUndefined();
  });

  test("of a parameter that the user has set for this upstream", () => {
    const profile = withFlags(genericProfile, { extraBody: { temperature: 1 } });
    const refusal = { status: 400, body: "Unknown parameter: 'temperature'" };
    expect(lessonOf(refusal, triedChat(body))).toBeDefined();
    expect(lessonOf(refusal, triedChat(body, profile))).toBeUndefined();
  });
});

test("a repair that changed nothing is not tried twice", () => {
  const words =
    "'reasoning_effort' does not support 'medium' with this model. Supported values are: 'low' and 'high'.";
  const body = { model: "m", messages: [], reasoning_effort: "medium" };
  const first = lessonOf({ status: 400, body: words }, triedChat(body));
  expect(first?.flags).toEqual({ efforts: ["low", "high"] });
  const profile = withFlags(genericProfile, first?.flags ?? {});
  const second = lessonOf({ status: 400, body: words }, triedChat(body, profile));
  expect(second?.flags).toEqual({ droppedParameters: ["reasoning_effort"] });
});

describe("whatever comes", () => {
  const said = fc.oneof(
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
      ...refusalCases.map(({ given, request }) =>
        translated(request, withFlags(genericProfile, given ?? {})),
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

  test("nothing is thrown, and every lesson changes what is asked", () => {
    let lessons = 0;
    fc.assert(
      fc.property(status, said, sent, speaks, (code, error, body, wire) => {
        const tried: Tried = { speaks: wire, profile: genericProfile, responses: {}, body };
        const lesson = lessonOf({ status: code, body: error }, tried);
        if (lesson === undefined) return;
        // A Chat client's own forms stay until anything is known of the upstream, whatever the generic profile says.
        if (lesson.code === "custom_tools" || lesson.code === "tool_result_media") return;
        lessons += 1;
        const changed = withFlags(genericProfile, lesson.flags);
        expect(wire === "chat" ? changed : (lesson.responses ?? {})).not.toEqual(
          wire === "chat" ? genericProfile : {},
        );
      }),
      { numRuns: 3_000 },
    );
    expect(lessons).toBeGreaterThan(10);
  });

  test("an error body of a megabyte is read in a moment", () => {
    const line = `Invalid JSON payload received. Unknown name "additionalProperties" at 'tools[0].function_declarations[7].parameters': Cannot find field.\n`;
    const messages = [
      line.repeat(8_000),
      "a".repeat(1e6),
      "'".repeat(1e6),
      "[".repeat(1e6),
      "unknown ".repeat(1e5),
    ];
    const took = workTime(() => {
      for (const message of messages)
        lessonOf({ status: 400, body: { error: { message } } }, triedChat({ seed: 1 }));
    });
    expect(took).toBeLessThan(2_000);
  });
});

type Upstream = (body: JsonObject) => Refusal | undefined | Promise<Refusal | undefined>;

/** Asks as a gateway would: again after each lesson, until it is taken or nothing more can be learned. */
async function learn(
  request: JsonObject,
  upstream: Upstream,
  given: Profile = genericProfile,
): Promise<{ lessons: Lesson[]; taken: boolean }> {
  const lessons: Lesson[] = [];
  let profile = given;
  while (lessons.length < 6) {
    const body = translated(request, profile);
    const refusal = await upstream(body);
    if (refusal === undefined) return { lessons, taken: true };
    const lesson = lessonOf(refusal, triedChat(body, profile));
    if (lesson === undefined) break;
    lessons.push(lesson);
    profile = withFlags(profile, lesson.flags);
  }
  return { lessons, taken: false };
}

function translated(request: JsonObject, profile: Profile): JsonObject {
  const decoded = decodeResponsesRequest(structuredClone(request));
  return chatRequest(decoded, { upstreamModel: "m", profile }).body;
}

function triedChat(body: JsonObject, profile: Profile = genericProfile): Tried {
  return { speaks: "chat", profile, responses: {}, body };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
