import { describe, expect, test } from "vitest";
import { classifyUrl } from "../../src/text/classify-url.ts";
import { summarizeArguments, toSingleLine } from "../../src/answer/summarize-arguments.ts";
import { toAnswerEnding } from "../../src/answer/answer-ending.tsx";
import { formatResultText } from "../../src/blocks/content-blocks.tsx";

describe("the summary of a call's arguments", () => {
  test("is the value of a single argument, or the names and values of several", () => {
    expect(summarizeArguments('{"city":"Paris"}')).toBe("Paris");
    expect(summarizeArguments('{"to":"Bob","text":"hello\\nthere","loud":true}')).toBe(
      "to: Bob, text: hello there, loud: true",
    );
    expect(summarizeArguments('{"to":"Bob","note":"","cc":null}')).toBe("Bob");
    expect(summarizeArguments("{}")).toBe("");
  });

  test("is the text itself if it is not a JSON object", () => {
    expect(summarizeArguments('{"city": "Par')).toBe('{"city": "Par');
    expect(summarizeArguments('"free text"')).toBe('"free text"');
    expect(summarizeArguments("null")).toBe("null");
  });

  test("is not truncated inside a character", () => {
    const line = toSingleLine("😀".repeat(500));
    expect(line.length).toBeLessThanOrEqual(161);
    expect(line.isWellFormed()).toBe(true);
    expect(line.endsWith("…")).toBe(true);
  });
});

describe("a media URL", () => {
  test.each([
    "/api/blobs/abc",
    "data:image/png;base64,AA==",
    "data:image/jpeg,x",
    "DATA:image/WebP;base64,AA==",
  ])("of a blob or an image data URL is local: %s", (url) =>
    expect(classifyUrl(url).type).toBe("local"),
  );

  test("on another host is external", () => {
    expect(classifyUrl("https://example.com/a.png")).toEqual({
      type: "external",
      url: "https://example.com/a.png",
      host: "example.com",
    });
  });

  test.each([
    "javascript:alert(1)",
    "//example.com/a.png",
    "/\\example.com/a.png",
    "/api/chats",
    "/api/blobs/",
    "/api/blobs/../chats",
    "/api/blobs/abc?x",
    "/api/blobs/abc/def",
    "data:text/html,<script>alert(1)</script>",
    "data:image/svg+xml,<svg/>",
    "data:image/pngx,x",
    "data:application/pdf;base64,AA==",
    "blob:http://127.0.0.1/1",
    "file:///etc/passwd",
    "",
    "nonsense",
  ])("of any other kind is unsafe: %s", (url) => expect(classifyUrl(url).type).toBe("unsafe"));
});

describe("the text of a result", () => {
  test("is pretty-printed if it is JSON", () => {
    expect(formatResultText('{"a":[1]}')).toEqual({
      type: "json",
      text: '{\n  "a": [\n    1\n  ]\n}',
    });
  });

  test.each([
    "# Title\n\ntext",
    "see [it](https://example.com)",
    "| a | b |\n| - | - |\n| 1 | 2 |",
  ])("is recognized as Markdown: %s", (text) =>
    expect(formatResultText(text).type).toBe("markdown"),
  );

  test.each(["a * b * c", "[INFO] started", "{not json", "snake_case_name"])(
    "is otherwise unchanged: %s",
    (text) => expect(formatResultText(text)).toEqual({ type: "plain", text }),
  );
});

describe("the ending of an answer", () => {
  test("is undefined while it runs and after it has completed", () => {
    expect(toAnswerEnding("completed", undefined)).toBeUndefined();
    expect(toAnswerEnding("running", undefined)).toBeUndefined();
  });

  test("has no details if the user stopped it", () => {
    expect(toAnswerEnding("aborted", undefined)).toEqual({ status: "stopped" });
  });

  test.each([
    ["context_length_exceeded", "", "adviceContextLength"],
    ["rate_limit_exceeded", "", "adviceWait"],
    ["insufficient_quota", "", "adviceKey"],
    ["upstream_rejected", "HTTP 401: invalid API key", "adviceKey"],
    ["upstream_unreachable", "connection refused", "adviceConnection"],
    ["model_not_found", "", "adviceChoose"],
    ["internal_error", "", "adviceRetry"],
  ])("has advice for a failure: %s %s", (code, message, advice) => {
    expect(toAnswerEnding("error", { phase: "model", code, message })).toMatchObject({
      status: "failed",
      title: "modelFailed",
      advice,
      code,
    });
  });
});
