import { describe, expect, test } from "vitest";
import { measureCpuTime } from "./cpu-time.ts";

const baseLength = 5_000;
/** Times below this number of milliseconds are noise. */
const minMeasurableMs = 40;
/** For four times the length, linear time grows by 4 and quadratic time by 16. */
const maxGrowth = 8;
const attempts = 3;

const repeatedTexts = [
  ...Array.from("\\<>`{}[]()\"'%&*_~|:-#.,/=+!@$^ \t\n\r0a\u00e4\ud83d\u200b"),
  '\\\\"',
  "\\u00",
  '\\"',
  "<tool_call>",
  "<tool_cal",
  "</tool_call>",
  "<function=look>",
  "<function=look><parameter=a>",
  "</parameter>",
  "</parameter> ",
  "<|tool_call_begin|>",
  "<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{",
  "<think>",
  "<think></think>",
  "</thin",
  "`</think>`",
  "`</think>",
  "` ",
  "``` ",
  "```\n",
  "~~~\n",
  '{"a":',
  '{"a":1}',
  '{"a":1},',
  "{} ",
  "[[{",
  '""',
  '"\\',
  "%7B",
  "%25",
  "%257B",
  "{{",
  "{{E",
  "{{EMAIL_1_x7f3}}",
  "{{ EMAIL\\_1\\_x7f",
  "{{var:",
  "}}",
  "sk-",
  "sk-a1",
  "AKIA",
  "eyJ",
  "eyJaaaaaaaaaa.",
  "-----BEGIN PRIVATE KEY-----",
  "-----BEGIN ",
  "password: ",
  'password="',
  "token is ",
  "Bearer ",
  "://a:",
  "://a:b@",
  "a@",
  "a@b.",
  "a.b",
  "1 ",
  "4-",
  "4111111111111111 ",
  "0 1",
  "+49 ",
  "(0",
  "123-45-",
  "key-of-up-01234567",
  "a-a_",
  "aaaaaaaaaaaaaaaaaaa",
  "YWFh",
  "&amp;",
  "&#x41",
  "\\u0061",
  "data: {",
  "data: \n",
  "data:image/png;base64,",
  "unsupported parameter: ",
  'unknown name "',
  "'type': 'a', 'loc': (",
  "messages[0].content: ",
  "does not support ",
  "is not supported with ",
  "must be one of ",
  "additional properties are not allowed (",
  "tool_call_id ",
  "[^1]",
  "[^1",
  "[a]",
  "[a](",
  "![",
  "](",
  "[a]: b\n",
  "[a]: <",
  "<https://",
  "https://a",
  "https://a.",
  "**a",
  "*a_",
  "_a*",
  "~~a",
  "$$",
  "$a",
  "\\(",
  "| a ",
  "|a|\n|-|\n",
  "> ",
  ">>",
  "- ",
  "- a\n",
  "  - a\n",
  "1. ",
  "# ",
  "  \n",
  "<br>",
  "<referencable-item>\nID: 1\n",
  "<referencable-ite",
  "< r",
  "\ufdd01\ufdd2",
];
/** Prefixes and suffixes of the repeated texts. */
const frames: readonly (readonly [string, string])[] = [
  ["", ""],
  ["a", "a"],
  ["<function=look><parameter=a>", "<"],
  ["| a", "b |"],
];

/** Defines a test for each function: its time must be proportional to the length of the text. */
export function testLinearTime(functions: Record<string, (text: string) => unknown>): void {
  describe.each(Object.entries(functions))("%s", (_name, run) => {
    test("takes linear time for repetitive texts", { timeout: 300_000 }, () => {
      const slowTexts: string[] = [];
      for (const [before, after] of frames)
        for (const unit of repeatedTexts) {
          const text = (size: number): string =>
            before + unit.repeat(Math.ceil(size / unit.length)) + after;
          const growth = measureGrowth(run, text(baseLength), text(4 * baseLength));
          if (growth !== undefined)
            slowTexts.push(`${JSON.stringify([before, unit, after])}: ${growth}`);
          if (slowTexts.length >= 5) break;
        }
      expect(slowTexts).toEqual([]);
    });
  });
}

/** Returns a description of the growth if it is too high in every attempt. */
function measureGrowth(
  run: (text: string) => unknown,
  short: string,
  long: string,
): string | undefined {
  let growth: string | undefined;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const longMs = measureCpuTime(() => void run(long));
    if (longMs < minMeasurableMs) return undefined;
    const shortMs = measureCpuTime(() => void run(short));
    if (longMs < maxGrowth * Math.max(shortMs, 1)) return undefined;
    growth = `${shortMs.toFixed(0)} ms, ${longMs.toFixed(0)} ms for 4 times the length`;
  }
  return growth;
}

/** Splits the text into reads. */
export function splitIntoChunks(text: string): string[] {
  const size = 40;
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}
