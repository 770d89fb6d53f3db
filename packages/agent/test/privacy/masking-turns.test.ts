import { maskedModel, type Vault } from "@deltawire/agent";
import type { PrivacyField, Placeholder } from "@deltawire/tasks/chats";
import type { ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { longestTurn, workTime } from "../../../../test/work-time.ts";
import { LinearPattern, SearchTooComplexError } from "../../src/patterns/linear-pattern.ts";
import { searchInWindows } from "../../src/privacy/search-windows.ts";
import { scriptedModel } from "../scripted-model.ts";
import { newVault } from "./private-texts.ts";
import { statefulPattern, statefulText } from "./stateful-pattern.ts";

const mebi = 1024 * 1024;
const fields: PrivacyField[] = [
  ...(["email", "phone", "card", "key", "password", "id"] as const).map((kind) => ({ kind })),
  { kind: "pattern", pattern: "\\w+-\\d{5}", label: "badge" },
  { kind: "pattern", pattern: "\\b\\d{3}/\\d{4}\\b", label: "room" },
];
const line = 'Words, 100% of them, in C:\\new\\ and 42 numbers; see "a.b" for more, 你好.\n';
const privateLine = "write to ann.lee@example.org, badge unit-12345, room 123/4567\n";
const keepNothing = (): Promise<void> => Promise.resolve();

function textOf(length: number, number = 0): string {
  const part = `${number} ${line.repeat(200)}${privateLine}`;
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

async function send(
  vault: Vault,
  request: ResponsesRequest,
  signal = new AbortController().signal,
  keep: (fresh: readonly Placeholder[]) => Promise<void> = keepNothing,
): Promise<string | undefined> {
  const upstream = scriptedModel([[{ text: "ok" }]]);
  const model = maskedModel(upstream, vault, keep);
  for await (const batch of model.stream(request, signal)) void batch;
  return JSON.stringify(upstream.asked[0]);
}

describe("a request of 8 MiB", () => {
  const history: ResponsesRequest = {
    input: [
      { role: "user", content: textOf(3 * mebi) },
      ...Array.from({ length: 512 }, (_, at) => ({ role: "user", content: textOf(4096, at) })),
      {
        type: "function_call_output",
        call_id: "call_1",
        output: JSON.stringify([textOf(mebi), ...Array.from(textOf(mebi).split("\n"))]),
      },
      {
        role: "user",
        content: [
          {
            type: "input_file",
            filename: "a.txt",
            file_data: `data:text/plain;base64,${Buffer.from(textOf(mebi)).toString("base64")}`,
          },
        ],
      },
    ],
  } as ResponsesRequest;

  test("is masked in turns of less than 200 ms", async () => {
    const vault = newVault(fields);
    let sent: string | undefined;
    const first = await longestTurn(async () => {
      sent = await send(vault, history);
    });
    expect(sent).not.toMatch(/ann\.lee|unit-12345|123\/4567/);
    expect(first).toBeLessThan(200);
    expect(vault.characters).toBeLessThan(5 * mebi);
  }, 60_000);

  test("is not sent after an abort, and what was learned is stored", async () => {
    const vault = newVault(fields);
    const stopping = new AbortController();
    const kept: Placeholder[] = [];
    const sending = send(vault, history, stopping.signal, (fresh) => {
      kept.push(...fresh);
      return Promise.resolve();
    });
    const waitForFirst = (): void => {
      if (vault.hasFresh) stopping.abort(new Error("stop"));
      else setImmediate(waitForFirst);
    };
    waitForFirst();
    await expect(sending).rejects.toThrow("stop");
    expect(kept.map(({ value }) => value)).toContain("ann.lee@example.org");
    expect(vault.hasFresh).toBe(false);
  }, 60_000);

  test("contains no value that another request has told meanwhile", async () => {
    const vault = newVault(fields);
    const input = [
      { role: "user", content: "the word tiger is no secret yet" },
      ...Array.from({ length: 200 }, (_, at) => ({ role: "user", content: textOf(8192, at) })),
    ];
    let turns = 0;
    const learn = (): void => {
      turns += 1;
      if (turns === 3) vault.mask("password: tiger");
      else setImmediate(learn);
    };
    setImmediate(learn);
    const sent = await send(vault, { input } as ResponsesRequest);
    expect(turns).toBe(3);
    expect(sent).not.toContain("tiger");
  }, 60_000);
});

describe("the cache of masked texts", () => {
  const text = `${textOf(200_000)} the word tiger ${textOf(200_000)}`;

  test("makes the next round cheap", () => {
    const vault = newVault(fields);
    vault.mask(text);
    const masked = vault.mask(text);
    const again = workTime(() => {
      for (let round = 0; round < 10; round += 1) expect(vault.mask(text)).toBe(masked);
    });
    const anew = workTime(() => newVault(fields).mask(text));
    expect(again).toBeLessThan(Math.max(anew, 30) * 2);
  });

  test("does not hide a value that was learned later", () => {
    const vault = newVault(fields);
    expect(vault.mask(text)).toContain("tiger");
    expect(vault.mask(text)).toContain("tiger");
    vault.mask("password: tiger");
    expect(vault.mask(text)).not.toContain("tiger");
  });

  test("tells apart texts that differ in half a surrogate pair", () => {
    const vault = newVault(fields);
    const halves = ["\uD800", "\uDBFF", "\uFFFD"].map((half) => half + textOf(1000));
    for (const half of halves) expect(vault.unmask(vault.mask(half))).toBe(half);
    for (const half of halves) expect(vault.unmask(vault.mask(half))).toBe(half);
  });
});

test("a value is found wherever the text is cut into windows", () => {
  for (let before = 524_288 - 25; before <= 524_288 + 2; before += 1) {
    const [start, end] = [". ".repeat(before).slice(-before), ` ${".".repeat(40_000)}`];
    const masked = newVault([{ kind: "email" }]).mask(`${start} ada@example.com${end}`);
    expect(masked === `${start} {{EMAIL_1_x7f3}}${end}`).toBe(true);
  }
});

test("a search in windows finds what a search of the complete text finds", () => {
  const piece = fc.string({ unit: fc.constantFrom("a", "b", "c", "x", "😀"), maxLength: 40 });
  const expression = /b+|(?<=x)a(?=c)|😀+/gu;
  fc.assert(
    fc.property(piece, piece, fc.nat(40), fc.boolean(), (first, second, less, isLong) => {
      // A match of any length, also over the end of a window and its context.
      const middle = (isLong ? "b" : "x").repeat(524_288 - less);
      const text = first + middle + second + "x".repeat(60_000) + first;
      const found: [number, number][] = [];
      const steps = searchInWindows(expression, text, ({ 0: match }, index) => {
        found.push([index, match.length]);
        return index + match.length;
      });
      // Between two steps another search leaves its own place in the expression.
      while (steps.next().done !== true) expression.lastIndex = 7;
      const complete = text.matchAll(new RegExp(expression, "gu"));
      expect(found).toEqual(Array.from(complete, (one) => [one.index, one[0].length]));
    }),
    { numRuns: 40 },
  );
});

test("searches for one pattern that take turns find what each finds alone", () => {
  const pattern = new LinearPattern("[ab]{3}a[ab]*x!|\\bc+(?=d)", "u");
  const texts = ["abbabx! ccd ", "ccc cd abaax!x! ", "é😀 bbbabbx!"].map((one) =>
    one.repeat(20_000),
  );
  const alone = texts.map((text) => pattern.findAll(text));
  fc.assert(
    fc.property(fc.array(fc.nat(2), { maxLength: 60 }), (order) => {
      const fresh = new LinearPattern("[ab]{3}a[ab]*x!|\\bc+(?=d)", "u");
      const searches = texts.map((text) => fresh.findAllSteps(text));
      const results: (number[] | undefined)[] = texts.map(() => undefined);
      const rest = texts.flatMap((_, at) => Array<number>(200).fill(at));
      for (const at of [...order, ...rest]) {
        const step = results[at] === undefined ? searches[at]?.next() : undefined;
        if (step?.done === true) results[at] = step.value;
      }
      expect(results).toEqual(alone);
    }),
    { numRuns: 10 },
  );
});

test("a search that becomes too complex does not disturb another of the same pattern", () => {
  const pattern = new LinearPattern(statefulPattern, "u");
  const text = `${"ab".repeat(300)}x! `.repeat(300);
  const expected = new LinearPattern(statefulPattern, "u").findAll(text);
  const search = pattern.findAllSteps(text);
  search.next();
  expect(() => pattern.findAll(statefulText)).toThrow(SearchTooComplexError);
  let step = search.next();
  while (step.done !== true) step = search.next();
  expect(step.value).toEqual(expected);
});
