import { describe, expect, test } from "vitest";
import { addressOf } from "../../src/texts/address.ts";
import { argumentsLine, oneLine } from "../../src/answer/arguments-line.ts";
import { endingOf } from "../../src/answer/ending.tsx";
import { resultText } from "../../src/blocks/blocks.tsx";

describe("the line of a call's arguments", () => {
  test("is the value alone where there is one, else names and values", () => {
    expect(argumentsLine('{"city":"Paris"}')).toBe("Paris");
    expect(argumentsLine('{"to":"Bob","text":"hello\\nthere","loud":true}')).toBe(
      "to: Bob, text: hello there, loud: true",
    );
    expect(argumentsLine('{"to":"Bob","note":"","cc":null}')).toBe("Bob");
    expect(argumentsLine("{}")).toBe("");
  });

  test("is what stands there where it is no object", () => {
    expect(argumentsLine('{"city": "Par')).toBe('{"city": "Par');
    expect(argumentsLine('"free text"')).toBe('"free text"');
    expect(argumentsLine("null")).toBe("null");
  });

  test("ends before it is long, and never within a character", () => {
    const line = oneLine("😀".repeat(500));
    expect(line.length).toBeLessThanOrEqual(161);
    expect(line.isWellFormed()).toBe(true);
    expect(line.endsWith("…")).toBe(true);
  });
});

describe("an address", () => {
  test.each([
    "/api/blobs/abc",
    "data:image/png;base64,AA==",
    "data:image/jpeg,x",
    "DATA:image/WebP;base64,AA==",
  ])("of a blob, or that is a picture itself, is shown: %s", (url) =>
    expect(addressOf(url).is).toBe("here"),
  );

  test("elsewhere is only linked, with its host", () => {
    expect(addressOf("https://example.com/a.png")).toEqual({
      is: "elsewhere",
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
  ])("that nobody should open is not opened: %s", (url) =>
    expect(addressOf(url).is).toBe("unusable"),
  );
});

describe("the text of a result", () => {
  test("is laid out where it is JSON", () => {
    expect(resultText('{"a":[1]}')).toEqual({
      is: "json",
      text: '{\n  "a": [\n    1\n  ]\n}',
    });
  });

  test.each([
    "# Title\n\ntext",
    "see [it](https://example.com)",
    "| a | b |\n| - | - |\n| 1 | 2 |",
  ])("is Markdown where it means to be: %s", (text) =>
    expect(resultText(text).is).toBe("markdown"),
  );

  test.each(["a * b * c", "[INFO] started", "{not json", "snake_case_name"])(
    "stays as it is elsewhere: %s",
    (text) => expect(resultText(text)).toEqual({ is: "plain", text }),
  );
});

describe("how an answer ended", () => {
  test("is not said of one that came to its own end", () => {
    expect(endingOf("completed", undefined)).toBeUndefined();
    expect(endingOf("running", undefined)).toBeUndefined();
  });

  test("is a plain word for one that a person stopped", () => {
    expect(endingOf("aborted", undefined)).toEqual({ is: "stopped" });
  });

  test.each([
    ["context_length_exceeded", "", "adviceLong"],
    ["rate_limit_exceeded", "", "adviceWait"],
    ["insufficient_quota", "", "adviceKey"],
    ["upstream_refused", "the upstream answered 401 and refused the key", "adviceKey"],
    ["upstream_unreachable", "nobody listens", "adviceReach"],
    ["model_not_found", "", "adviceChoose"],
    ["internal_error", "", "adviceRetry"],
  ])("comes with advice: %s %s", (code, message, advice) => {
    expect(endingOf("error", { phase: "model", code, message })).toMatchObject({
      is: "failed",
      title: "modelFailed",
      advice,
      code,
    });
  });
});
