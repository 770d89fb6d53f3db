import { genericProfile } from "@deltawire/wire";
import { expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import { deriveLesson } from "../src/learning/derive-lesson.ts";

/** A request with everything that lessons can change. */
const body = {
  model: "m",
  stream: true,
  stream_options: { include_usage: true },
  temperature: 1,
  max_tokens: 5,
  reasoning_effort: "high",
  response_format: { type: "json_schema", json_schema: { name: "a", strict: true, schema: {} } },
  tools: [
    { type: "custom", custom: { name: "a" } },
    { type: "function", function: { name: "b", strict: true } },
  ],
  tool_choice: "required",
  messages: [
    { role: "developer", content: "a" },
    { role: "user", content: "a" },
    { role: "assistant", content: null, tool_calls: [{ id: "c", function: { name: "b" } }] },
    { role: "tool", tool_call_id: "c", content: [{ type: "text", text: "a" }] },
    { role: "user", content: "a" },
    { role: "system", content: "a" },
  ],
  include: ["reasoning.encrypted_content"],
  reasoning: { effort: "high" },
  input: [{ type: "reasoning", encrypted_content: "a" }],
};

/** Starts of matching sentences, followed by text that is slow to match. */
const words = [
  "\\",
  '\\"a',
  "'",
  "`",
  '"',
  "[",
  "{",
  "(",
  " ",
  "\n",
  "a",
  "a.",
  "a_",
  "a: ",
  "a b ",
  "1",
  "unknown ",
  "unsupported ",
  "unsupported parameter: ",
  "unrecognized request argument supplied: a, ",
  "unknown parameter a[0].",
  "messages[1].a",
  "property ",
  "parameter ",
  "is not supported with ",
  "signature ",
  "expected thinking ",
  "thinking ",
  "thinking.type ",
  "output_config ",
  "role system ",
  "use adaptive ",
  "does not support parameters: ['a', ",
  "extra parameters a ",
  "additional properties are not allowed ('a' ",
  'unknown name "',
  'unknown name "a" at \'',
  "'type': 'a', 'loc': (",
  "'type': 'a', 'loc': ('a'), 'msg': '",
  "reasoning effort ",
  "not support ",
  "supported values are ",
  "must be one of ",
  "tool_choice ",
  "tool choice must be ",
  "role ",
  "system message ",
  "developer ",
  "temperature ",
  "temperature and ",
  "response_format ",
  "json_schema ",
  "invalid schema for function ",
  "function_declarations[0].parameters ",
  "function declaration ",
  "stream ",
  "tools.0.type ",
  "tools[0].type",
  "tool call id ",
  "include[0] ",
  "store ",
  "context ",
  "model ",
  "exceeds ",
  "invalid ",
  "content ",
  "reasoning_content ",
  "item ",
  "rs_a ",
];

const longest = 500_000;

function filled(start: string, filler: string): string {
  return start + filler.repeat(Math.ceil((longest - start.length) / filler.length));
}

const texts = [
  ...words.map((word) => filled("", word)),
  ...words.flatMap((word) => ["a", " ", "\\", "'", "1", "a "].map((more) => filled(word, more))),
];

test.each(["chat", "responses", "messages"] as const)(
  "no error text makes the patterns for %s upstreams slow",
  { timeout: 300_000 },
  (speaks) => {
    const attempt = { speaks, profile: genericProfile, responses: {}, body };
    const slow: string[] = [];
    for (const text of texts)
      for (const error of [{ message: text }, { param: "a", type: text, message: text }]) {
        const ms = measureCpuTime(() => deriveLesson({ status: 400, body: { error } }, attempt));
        if (ms > 150) slow.push(`${ms.toFixed(0)} ms: ${JSON.stringify(text.slice(0, 60))}`);
      }
    expect(slow).toEqual([]);
  },
);

test("an error with hundreds of matches is not compared with a long request", () => {
  const content = "Unsupported parameter: 'a".repeat(800_000);
  const long = { model: "m", seed: 1, messages: [{ role: "user", content }] };
  const attempt = { speaks: "chat" as const, profile: genericProfile, responses: {}, body: long };
  const names = ["seed", ...Array.from({ length: 300 }, (_, index) => `a${index}`)];
  const message = names.map((name) => `Unsupported parameter: '${name}'`).join("\n");
  let lesson: ReturnType<typeof deriveLesson> = undefined;
  const ms = measureCpuTime(
    () => (lesson = deriveLesson({ status: 400, body: { error: { message } } }, attempt)),
  );
  expect(ms).toBeLessThan(150);
  // A possible quote teaches a lesson for this request only.
  expect(lesson).toMatchObject({ flags: { droppedParameters: ["seed"] }, once: true });
});
