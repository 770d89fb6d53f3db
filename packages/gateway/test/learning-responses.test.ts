import { readFileSync } from "node:fs";
import {
  decodeResponsesRequest,
  genericProfile,
  mendedResponsesRequest,
  mendHistory,
  Repairs,
  type InputItem,
  type JsonObject,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { lessonOf, type Lesson, type ResponsesLesson } from "../src/learning/lessons.ts";
import { withLesson } from "../src/learning/memory.ts";
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
  ])("that is refused loses the ids whose reasoning is not there: %i %s", (status, message) => {
    const lesson = learn({ input: history }, message, { status });
    expect(lesson).toMatchObject({
      code: "history",
      flags: {},
      responses: { refusedHistory: true },
    });
    expect(lesson?.once).toBeUndefined();
  });

  test("that is refused still loses its sealed reasoning, this once", () => {
    const lesson = learn({ input: history }, notFound, { before: { refusedHistory: true } });
    expect(lesson).toMatchObject({ responses: { dropSealed: true }, once: true });
    const before = { refusedHistory: true, dropSealed: true };
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
  ])("with reasoning that another server sealed goes without it, this once: $message", (error) => {
    const lesson = lessonOf(
      { status: 400, body: { error } },
      { speaks: "responses", profile: genericProfile, responses: {}, body: { input: history } },
    );
    expect(lesson).toMatchObject({
      code: "sealed_reasoning",
      responses: { refusedHistory: true, dropSealed: true },
      once: true,
    });
    const { refusedHistory: refused = false, dropSealed = false } = lesson?.responses ?? {};
    const repairs = new Repairs();
    const mended = mendHistory(history as InputItem[], {
      stored: false,
      refused,
      dropSealed,
      repairs,
    });
    expect(JSON.stringify(mended)).not.toMatch(/gAAA|rs_1|msg_1/);
  });

  test("that has nothing to lose teaches nothing", () => {
    expect(learn({ input: "hi" }, notFound)).toBeUndefined();
    expect(
      learn({ input: [history[0] ?? {}] }, "The encrypted content gAAA could not be verified."),
    ).toBeUndefined();
  });
});

describe("a parameter", () => {
  test.each<[title: string, body: JsonObject, said: unknown, taken: JsonObject]>([
    [
      "store that has to be false, on ChatGPT's Codex backend",
      { model: "m", input: "hi" },
      { detail: "Store must be set to false" },
      { model: "m", input: "hi", store: false },
    ],
    [
      "store that has to be false, on vLLM",
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
      "a stream that has to be one",
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
      "an effort that is not known",
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
      "an effort where none is known",
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
  ])("%s", (_title, body, said, taken) => {
    const refusal = { status: 400, body: said };
    const tried = { speaks: "responses", profile: genericProfile, body } as const;
    const lesson = lessonOf(refusal, { ...tried, responses: {} });
    expect(mended(body, lesson?.responses ?? {})).toEqual(taken);

    const learned = withLesson({}, lesson?.responses ?? {});
    const again = lessonOf(refusal, { ...tried, responses: learned, body: taken });
    expect(again?.responses).not.toEqual(lesson?.responses);
  });

  test.each([
    "Unsupported parameter: previous_response_id",
    "Unsupported parameter: instructions",
    "Unsupported parameter: tools",
    "Unsupported parameter: input",
    "Unknown parameter: 'input[0].content'.",
    "previous_response_id is not supported",
  ])("without which something else would be asked stays: %s", (message) => {
    const body = {
      model: "m",
      input: "hi",
      instructions: "x",
      tools: [],
      previous_response_id: "r",
    };
    expect(learn(body, message)).toBeUndefined();
  });

  test("is the nearest effort that is known, of two the higher", () => {
    const asked = (effort: string): unknown =>
      mended({ reasoning: { effort } }, { efforts: ["low", "high"] })["reasoning"];
    expect(["none", "low", "medium", "xhigh", "strange"].map(asked)).toEqual([
      { effort: "low" },
      { effort: "low" },
      { effort: "high" },
      { effort: "high" },
      {},
    ]);
  });

  test("is left alone where nothing was learned", () => {
    const body = { model: "m" };
    expect(mended(body, {})).toBe(body);
  });
});

const catalogue = sharedData("quirks/quirks.json");

test.skipIf(catalogue.isMissing)(
  "every refusal of a Responses upstream in the shared catalogue teaches something",
  () => {
    const { quirks } = JSON.parse(readFileSync(catalogue.path, "utf8")) as {
      quirks: { class: string; title: string; error?: { status: number; body?: unknown } }[];
    };
    const refused = quirks.filter((quirk) => quirk.class === "responses-upstream" && quirk.error);
    expect(refused.length).toBeGreaterThan(2);
    for (const { error, title } of refused) {
      // One has its words in the title only.
      const refusal = { status: error?.status ?? 400, body: error?.body ?? title };
      const body = { input: history };
      const tried = { speaks: "responses", profile: genericProfile, responses: {}, body } as const;
      expect(lessonOf(refusal, tried)?.code, title).toMatch(/history|sealed_reasoning/);
    }
  },
);

function learn(
  body: JsonObject,
  message: string,
  { status = 400, before = {} }: { status?: number; before?: ResponsesLesson } = {},
): Lesson | undefined {
  const refusal = { status, body: { error: { message, type: "invalid_request_error" } } };
  return lessonOf(refusal, {
    speaks: "responses",
    profile: genericProfile,
    responses: before,
    body,
  });
}

/** What is asked once this is known. */
function mended(body: JsonObject, lesson: ResponsesLesson): JsonObject {
  return mendedResponsesRequest(decodeResponsesRequest(body), lesson).body;
}
