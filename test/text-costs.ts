import { describe, expect, test } from "vitest";
import { workTime } from "./work-time.ts";

const length = 5_000;
/** Less is not told apart from noise. In milliseconds. */
const leastMs = 40;
/** Linear time grows 4 times, quadratic 16 times. */
const mostGrowth = 8;
const attempts = 3;

const repeated = [
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
/** Behind a beginning, before an end: long runs in the middle of something else. */
const frames: readonly (readonly [string, string])[] = [
  ["", ""],
  ["a", "a"],
  ["<function=look><parameter=a>", "<"],
  ["| a", "b |"],
];

/** Tests that each function takes time in proportion to the length of its text, whatever the text is. */
export function testTextCosts(functions: Record<string, (text: string) => unknown>): void {
  describe.each(Object.entries(functions))("%s", (_name, run) => {
    test("takes linear time on any text", { timeout: 300_000 }, () => {
      const slow: string[] = [];
      for (const [before, after] of frames)
        for (const piece of repeated) {
          const text = (size: number): string =>
            before + piece.repeat(Math.ceil(size / piece.length)) + after;
          const growth = measureGrowth(run, text(length), text(4 * length));
          if (growth !== undefined)
            slow.push(`${JSON.stringify([before, piece, after])}: ${growth}`);
          if (slow.length >= 5) break;
        }
      expect(slow).toEqual([]);
    });
  });
}

/** How the time grows if it grows too much in each of the attempts. */
function measureGrowth(
  run: (text: string) => unknown,
  short: string,
  long: string,
): string | undefined {
  let growth: string | undefined;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const longMs = workTime(() => void run(long));
    if (longMs < leastMs) return undefined;
    const shortMs = workTime(() => void run(short));
    if (longMs < mostGrowth * Math.max(shortMs, 1)) return undefined;
    growth = `${shortMs.toFixed(0)} ms, ${longMs.toFixed(0)} ms for 4 times as much`;
  }
  return growth;
}

/** As they come from the network. */
export function pieces(text: string): string[] {
  const size = 40;
  return Array.from({ length: Math.ceil(text.length / size) }, (_each, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}
