import { genericProfile, type JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { deriveLesson, type RequestAttempt } from "../src/learning/derive-lesson.ts";

/* Errors of models for Messages clients: limits of output tokens, thinking, and unknown models. */

const learn = (
  message: string,
  attempt: Partial<RequestAttempt> & { body: JsonObject },
  { status = 400, type = "invalid_request_error" } = {},
) =>
  deriveLesson(
    { status, body: { error: { type, message } } },
    { speaks: "chat", profile: genericProfile, responses: {}, ...attempt },
  );

describe("the limit of output tokens", () => {
  const body = { max_tokens: 128_000 };

  test.each([
    ["max_tokens: 128000 > 8192, which is the maximum allowed number of output tokens", 8192],
    [
      "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model",
      16_384,
    ],
    ["max_tokens (128000) exceeds model's maximum output tokens (65536) for model m", 65_536],
    ["body.max_tokens: Input should be less than or equal to 8192", 8192],
  ])("is learned from %j", (message, limit) => {
    expect(learn(message, { body })).toMatchObject({
      code: "output_token_limit",
      outputTokenLimit: limit,
    });
    expect(learn(message, { body })).not.toHaveProperty("once");
  });

  test("applies only to the request if it depends on the prompt", () => {
    const message = "max_tokens must be at most 700, because the prompt has 7492 tokens";
    expect(learn(message, { body })).toMatchObject({ outputTokenLimit: 700, once: true });
  });

  test("is not learned from the limit of another parameter", () => {
    const message =
      "invalid request (max_tokens, temperature): must be less than or equal to 1, got 2";
    expect(learn(message, { body })?.outputTokenLimit).toBeUndefined();
  });
});

describe("thinking that is not supported", () => {
  const body = { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 3000 };
  const attempt = { speaks: "messages", clientApi: "messages", body } as const;

  test("is omitted from all requests", () => {
    const lesson = learn("this model does not support thinking", attempt);
    expect(lesson).toMatchObject({ messages: { droppedParameters: ["thinking"] } });
    expect(lesson).not.toHaveProperty("once");
  });

  test.each([
    "adaptive thinking is not supported on this model",
    "interleaved thinking unsupported",
  ])("stays if only one kind of it is not supported: %s", (message) => {
    const adaptive = { thinking: { type: "adaptive" }, max_tokens: 3000 };
    expect(learn(message, { ...attempt, body: adaptive })).toBeUndefined();
  });

  test("is omitted once if it is not supported together with something else", () => {
    const message = "Extended thinking is not supported when tool_choice forces tool use";
    expect(learn(message, attempt)).toMatchObject({
      messages: { droppedParameters: ["thinking"] },
      once: true,
    });
  });
});

test("an unknown model of Anthropic is no reason to try another API", () => {
  const attempt = { speaks: "messages", detectsApi: true, triedApis: ["messages"] } as const;
  const notFound = { status: 404, type: "not_found_error" };
  expect(learn("model: claude-x", { ...attempt, body: {} }, notFound)).toBeUndefined();
  expect(learn("Not Found", { ...attempt, body: {} }, notFound)).toMatchObject({ speaks: "chat" });
});
