import { readFileSync } from "node:fs";
import {
  decodeResponsesRequest,
  genericProfile,
  repairResponsesRequest,
  repairHistory,
  Repairs,
  type ResponseInputItem,
  type ResponsesFlags,
  type JsonObject,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { deriveLesson, type Lesson } from "../src/learning/derive-lesson.ts";
import { mergeFlags } from "../src/learning/lesson-registry.ts";
import { sharedData } from "../../../test/shared-data.ts";

const history = [
  { role: "user", content: "hi" },
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
  {
    type: "message",
    id: "msg_1",
    role: "assistant",
    content: [{ type: "output_text", text: "yo" }],
  },
  { role: "user", content: "again" },
];

describe("a Codex request for a lite model, with its tools in the input,", () => {
  const tools = [{ type: "function", name: "f", parameters: {} }];
  const input = [
    { type: "additional_tools", role: "developer", tools },
    { role: "user", content: "hi" },
  ];

  test.each([
    "Invalid value: 'additional_tools'. Supported values are: 'message', 'function_call'.",
    "input.0: Input should be a valid dictionary or one of the union types",
    "Invalid 'input[0].type': unknown item type",
  ])("that is rejected is sent with its tools in `tools`: %s", (message) => {
    const lesson = learn({ input }, message);
    expect(lesson).toMatchObject({ code: "additional_tools", responses: { hoistTools: true } });
    const request = decodeResponsesRequest({ model: "m", input, tools: [] });
    const { body, repairs } = repairResponsesRequest(request, lesson?.responses);
    expect(body).toEqual({ model: "m", input: input.slice(1), tools });
    expect(repairs.list).toMatchObject([
      { code: "parameter_changed", detail: "input[].additional_tools: sent as tools" },
    ]);
    expect(learn({ input }, message, { before: { hoistTools: true } })).toBeUndefined();
    expect(learn({ input: input.slice(1) }, message)).toBeUndefined();
  });
});

test.each(["content", "output"])(
  "a rejected cache breakpoint is dropped from the %s of all items",
  (field) => {
    const part = { type: "input_text", text: "hi", prompt_cache_breakpoint: { mode: "explicit" } };
    const message = `Unknown parameter: 'input[0].${field}[0].prompt_cache_breakpoint'.`;
    const path = `input[].${field}[].prompt_cache_breakpoint`;
    const lesson = learn({ input: [{ type: "message", role: "user", [field]: [part] }] }, message);
    expect(lesson).toMatchObject({
      code: "parameter",
      responses: { droppedParameters: [path] },
    });
  },
);

describe("a history", () => {
  const notFound =
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.";

  test.each([
    [404, notFound],
    [400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."],
    [
      400,
      "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
    ],
  ])("that is rejected loses the ids of items without reasoning: %i %s", (status, message) => {
    const lesson = learn({ input: history }, message, { status });
    expect(lesson).toMatchObject({
      code: "history",
      flags: {},
      responses: { rejectsHistory: true },
    });
    expect(lesson?.once).toBeUndefined();
  });

  test("that is rejected again loses its sealed reasoning, for this request", () => {
    const lesson = learn({ input: history }, notFound, { before: { rejectsHistory: true } });
    expect(lesson).toMatchObject({ responses: { dropSealed: true }, once: true });
    const before = { rejectsHistory: true, dropSealed: true };
    expect(learn({ input: history }, notFound, { before })).toBeUndefined();
  });

  test.each([
    {
      message: "The encrypted content gAAA...ng== could not be verified.",
      code: "invalid_encrypted_content",
    },
    {
      message:
        "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content item_id did not match the target item id.",
    },
    { message: "Could not decrypt the provided encrypted_content." },
  ])(
    "with reasoning that another server sealed is sent without it, for this request: $message",
    (error) => {
      const lesson = deriveLesson(
        { status: 400, body: { error } },
        { speaks: "responses", profile: genericProfile, responses: {}, body: { input: history } },
      );
      expect(lesson).toMatchObject({
        code: "sealed_reasoning",
        responses: { rejectsHistory: true, dropSealed: true },
        once: true,
      });
      const { rejectsHistory: wasRejected = false, dropSealed = false } = lesson?.responses ?? {};
      const repairs = new Repairs();
      const applyLesson = repairHistory(history as ResponseInputItem[], {
        stored: false,
        wasRejected,
        dropSealed,
        repairs,
      });
      expect(JSON.stringify(applyLesson)).not.toMatch(/gAAA|rs_1|msg_1/);
    },
  );

  test("without anything to remove teaches no lesson", () => {
    expect(learn({ input: "hi" }, notFound)).toBeUndefined();
    expect(
      learn({ input: [history[0] ?? {}] }, "The encrypted content gAAA could not be verified."),
    ).toBeUndefined();
  });
});

describe("a parameter", () => {
  test.each<[title: string, body: JsonObject, errorBody: unknown, expected: JsonObject]>([
    [
      "store must be false, on ChatGPT's Codex backend",
      { model: "m", input: "hi" },
      { detail: "Store must be set to false" },
      { model: "m", input: "hi", store: false },
    ],
    [
      "store must be false, on vLLM",
      { model: "m", store: true },
      {
        error: {
          message:
            "`store=True` (default) is not supported. Please set `store=False` in Responses API",
        },
      },
      { model: "m", store: false },
    ],
    [
      "stream must be true",
      { model: "m" },
      { detail: "Stream must be set to true" },
      { model: "m", stream: true },
    ],
    [
      "max_output_tokens",
      { model: "m", max_output_tokens: 9 },
      { detail: "Unsupported parameter: max_output_tokens" },
      { model: "m" },
    ],
    [
      "top_p, by name and code",
      { model: "m", top_p: 0.5 },
      {
        error: {
          message: "Unsupported parameter: 'top_p' is not supported with this model.",
          param: "top_p",
          code: "unsupported_parameter",
        },
      },
      { model: "m" },
    ],
    [
      "a part of reasoning",
      { model: "m", reasoning: { effort: "low", summary: "auto" } },
      {
        error: {
          message: "Unknown parameter: 'reasoning.summary'.",
          param: "reasoning.summary",
          code: "unknown_parameter",
        },
      },
      { model: "m", reasoning: { effort: "low" } },
    ],
    [
      "include",
      { model: "m", include: ["reasoning.encrypted_content"] },
      {
        error: { message: "Encrypted content is not supported with this model.", param: "include" },
      },
      { model: "m" },
    ],
    [
      "an effort that is not supported",
      { model: "m", reasoning: { effort: "none", summary: "auto" } },
      {
        error: {
          message:
            "Unsupported value: 'none' is not supported with the 'm' model. Supported values are: 'low', 'medium', and 'high'.",
          param: "reasoning.effort",
          code: "unsupported_value",
        },
      },
      { model: "m", reasoning: { effort: "low", summary: "auto" } },
    ],
    [
      "an effort on a server that supports none",
      { model: "m", reasoning: { effort: "high" } },
      {
        code: "Client specified an invalid argument",
        error: "Model m does not support parameter reasoningEffort.",
      },
      { model: "m" },
    ],
    [
      "a field of the items",
      {
        model: "m",
        input: [{ role: "user", content: "hi", internal_metadata: {} }, { type: "x" }],
      },
      {
        error: {
          message:
            '{"error":{"message":"Unknown parameter: \'input[0].internal_metadata\'.","code":"invalid_request_body"}}',
        },
      },
      { model: "m", input: [{ role: "user", content: "hi" }, { type: "x" }] },
    ],
  ])("is changed after an error about it: %s", (_title, body, errorBody, expected) => {
    const rejection = { status: 400, body: errorBody };
    const attempt = { speaks: "responses", profile: genericProfile, body } as const;
    const lesson = deriveLesson(rejection, { ...attempt, responses: {} });
    expect(applyLesson(body, lesson?.responses ?? {})).toEqual(expected);

    const learned = mergeFlags({}, lesson?.responses ?? {});
    const again = deriveLesson(rejection, { ...attempt, responses: learned, body: expected });
    expect(again?.responses).not.toEqual(lesson?.responses);
  });

  test.each([
    "Unsupported parameter: previous_response_id",
    "Unsupported parameter: instructions",
    "Unsupported parameter: tools",
    "Unsupported parameter: input",
    "Unknown parameter: 'input[0].content'.",
    "previous_response_id is not supported",
  ])("that the request depends on is not dropped: %s", (message) => {
    const body = {
      model: "m",
      input: "hi",
      instructions: "x",
      tools: [],
      previous_response_id: "r",
    };
    expect(learn(body, message)).toBeUndefined();
  });

  test("for the effort becomes the nearest supported one, the higher of two", () => {
    const sendEffort = (effort: string): unknown =>
      applyLesson({ reasoning: { effort } }, { efforts: ["low", "high"] })["reasoning"];
    expect(["none", "low", "medium", "xhigh", "strange"].map(sendEffort)).toEqual([
      { effort: "low" },
      { effort: "low" },
      { effort: "high" },
      { effort: "high" },
      {},
    ]);
  });

  test("is not changed if there is no lesson", () => {
    const body = { model: "m" };
    expect(applyLesson(body, {})).toBe(body);
  });
});

const catalog = sharedData("quirks/quirks.json");

test.skipIf(catalog.isMissing)(
  "every rejection of a Responses upstream in the shared catalog teaches a lesson",
  () => {
    const { quirks } = JSON.parse(readFileSync(catalog.path, "utf8")) as {
      quirks: { class: string; title: string; error?: { status: number; body?: unknown } }[];
    };
    const rejected = quirks.filter((quirk) => quirk.class === "responses-upstream" && quirk.error);
    expect(rejected.length).toBeGreaterThan(2);
    for (const { error, title } of rejected) {
      // One rejection has its message only in its title.
      const rejection = { status: error?.status ?? 400, body: error?.body ?? title };
      const body = { input: history };
      const attempt = {
        speaks: "responses",
        profile: genericProfile,
        responses: {},
        body,
      } as const;
      expect(deriveLesson(rejection, attempt)?.code, title).toMatch(/history|sealed_reasoning/);
    }
  },
);

function learn(
  body: JsonObject,
  message: string,
  { status = 400, before = {} }: { status?: number; before?: ResponsesFlags } = {},
): Lesson | undefined {
  const rejection = { status, body: { error: { message, type: "invalid_request_error" } } };
  return deriveLesson(rejection, {
    speaks: "responses",
    profile: genericProfile,
    responses: before,
    body,
  });
}

/** Returns the request body with the lesson applied. */
function applyLesson(body: JsonObject, lesson: ResponsesFlags): JsonObject {
  return repairResponsesRequest(decodeResponsesRequest(body), lesson).body;
}
