import { createMaskedModel, type Vault } from "@deltawire/agent";
import type { PrivacyField, Placeholder } from "@deltawire/tasks/chats";
import type { ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureLongestBlock, measureCpuTime } from "../../../../test/cpu-time.ts";
import { LinearPattern, SearchTooComplexError } from "../../src/patterns/linear-pattern.ts";
import { searchInWindows } from "../../src/privacy/search-windows.ts";
import { scriptedModel } from "../scripted-model.ts";
import { newPlaceholderStore, newVault } from "./private-texts.ts";
import { statefulPattern, statefulText } from "./stateful-pattern.ts";

const MiB = 1024 * 1024;
const fields: PrivacyField[] = [
  ...(["email", "phone", "card", "key", "password", "id"] as const).map((kind) => ({ kind })),
  { kind: "pattern", pattern: "\\w+-\\d{5}", label: "badge" },
  { kind: "pattern", pattern: "\\b\\d{3}/\\d{4}\\b", label: "room" },
];
const line = 'Words, 100% of them, in C:\\new\\ and 42 numbers; see "a.b" for more, 你好.\n';
const privateLine = "write to ann.lee@example.org, badge unit-12345, room 123/4567\n";

function makeText(length: number, seed = 0): string {
  const part = `${seed} ${line.repeat(200)}${privateLine}`;
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

async function send(
  vault: Vault,
  request: ResponsesRequest,
  signal = new AbortController().signal,
  onAdd?: (added: readonly Placeholder[]) => Promise<void>,
): Promise<string | undefined> {
  const upstream = scriptedModel([[{ text: "ok" }]]);
  const model = createMaskedModel(upstream, vault, newPlaceholderStore(onAdd));
  for await (const batch of model.stream(request, signal)) void batch;
  return JSON.stringify(upstream.requests[0]);
}

describe("a masked request of 8 MiB", () => {
  const history: ResponsesRequest = {
    input: [
      { role: "user", content: makeText(3 * MiB) },
      ...Array.from({ length: 512 }, (_, index) => ({
        role: "user",
        content: makeText(4096, index),
      })),
      {
        type: "function_call_output",
        call_id: "call_1",
        output: JSON.stringify([makeText(MiB), ...Array.from(makeText(MiB).split("\n"))]),
      },
      {
        role: "user",
        content: [
          {
            type: "input_file",
            filename: "a.txt",
            file_data: `data:text/plain;base64,${Buffer.from(makeText(MiB)).toString("base64")}`,
          },
        ],
      },
    ],
  } as ResponsesRequest;

  test("is built without blocking the event loop for 200 ms at a time", async () => {
    const vault = newVault(fields);
    let sent: string | undefined;
    const longestBlockMs = await measureLongestBlock(async () => {
      sent = await send(vault, history);
    });
    expect(sent).not.toMatch(/ann\.lee|unit-12345|123\/4567/);
    expect(longestBlockMs).toBeLessThan(200);
    expect(vault.characters).toBeLessThan(5 * MiB);
  }, 60_000);

  test("is not sent after an abort, and learned values are stored", async () => {
    const vault = newVault(fields);
    const abortController = new AbortController();
    const stored: Placeholder[] = [];
    const sending = send(vault, history, abortController.signal, (added) => {
      stored.push(...added);
      return Promise.resolve();
    });
    const waitForFirst = (): void => {
      if (vault.hasNewPlaceholders) abortController.abort(new Error("stop"));
      else setImmediate(waitForFirst);
    };
    waitForFirst();
    await expect(sending).rejects.toThrow("stop");
    expect(stored.map(({ value }) => value)).toContain("ann.lee@example.org");
    expect(vault.hasNewPlaceholders).toBe(false);
  }, 60_000);

  test("contains no value that another request has added in the meantime", async () => {
    const vault = newVault(fields);
    const input = [
      { role: "user", content: "the word tiger is not secret yet" },
      ...Array.from({ length: 200 }, (_, index) => ({
        role: "user",
        content: makeText(8192, index),
      })),
    ];
    let turns = 0;
    const learnInThirdTurn = (): void => {
      turns += 1;
      if (turns === 3) vault.mask("password: tiger");
      else setImmediate(learnInThirdTurn);
    };
    setImmediate(learnInThirdTurn);
    const sent = await send(vault, { input } as ResponsesRequest);
    expect(turns).toBe(3);
    expect(sent).not.toContain("tiger");
  }, 60_000);
});

describe("the cache of masked text", () => {
  const text = `${makeText(200_000)} the word tiger ${makeText(200_000)}`;

  test("makes masking the same text again cheap", () => {
    const vault = newVault(fields);
    vault.mask(text);
    const masked = vault.mask(text);
    const cachedMs = measureCpuTime(() => {
      for (let round = 0; round < 10; round += 1) expect(vault.mask(text)).toBe(masked);
    });
    const uncachedMs = measureCpuTime(() => newVault(fields).mask(text));
    expect(cachedMs).toBeLessThan(Math.max(uncachedMs, 30) * 2);
  });

  test("is not used after a new value is learned", () => {
    const vault = newVault(fields);
    expect(vault.mask(text)).toContain("tiger");
    expect(vault.mask(text)).toContain("tiger");
    vault.mask("password: tiger");
    expect(vault.mask(text)).not.toContain("tiger");
  });

  test("distinguishes strings that differ only in a lone surrogate", () => {
    const vault = newVault(fields);
    const texts = ["\uD800", "\uDBFF", "\uFFFD"].map((surrogate) => surrogate + makeText(1000));
    for (const value of texts) expect(vault.unmask(vault.mask(value))).toBe(value);
    for (const value of texts) expect(vault.unmask(vault.mask(value))).toBe(value);
  });
});

test("a value at the boundary of two search windows is found", () => {
  for (let before = 524_288 - 25; before <= 524_288 + 2; before += 1) {
    const [start, end] = [". ".repeat(before).slice(-before), ` ${".".repeat(40_000)}`];
    const masked = newVault([{ kind: "email" }]).mask(`${start} ada@example.com${end}`);
    expect(masked === `${start} {{EMAIL_1_x7f3}}${end}`).toBe(true);
  }
});

test("a search in windows finds the same matches as a search of the complete text", () => {
  const piece = fc.string({ unit: fc.constantFrom("a", "b", "c", "x", "😀"), maxLength: 40 });
  const expression = /b+|(?<=x)a(?=c)|😀+/gu;
  fc.assert(
    fc.property(piece, piece, fc.nat(40), fc.boolean(), (first, second, less, isLong) => {
      // Matches of any length, also beyond the end of a window and its context.
      const middle = (isLong ? "b" : "x").repeat(524_288 - less);
      const text = first + middle + second + "x".repeat(60_000) + first;
      const found: [number, number][] = [];
      const steps = searchInWindows(expression, text, ({ 0: match }, index) => {
        found.push([index, match.length]);
        return index + match.length;
      });
      // Simulates another search that changes `lastIndex` between two steps.
      while (steps.next().done !== true) expression.lastIndex = 7;
      const complete = text.matchAll(new RegExp(expression, "gu"));
      expect(found).toEqual(Array.from(complete, (match) => [match.index, match[0].length]));
    }),
    { numRuns: 40 },
  );
});

test("interleaved searches for one pattern find the same matches as separate ones", () => {
  const pattern = new LinearPattern("[ab]{3}a[ab]*x!|\\bc+(?=d)", "u");
  const texts = ["abbabx! ccd ", "ccc cd abaax!x! ", "é😀 bbbabbx!"].map((text) =>
    text.repeat(20_000),
  );
  const expected = texts.map((text) => pattern.findAll(text));
  fc.assert(
    fc.property(fc.array(fc.nat(2), { maxLength: 60 }), (order) => {
      const sharedPattern = new LinearPattern("[ab]{3}a[ab]*x!|\\bc+(?=d)", "u");
      const searches = texts.map((text) => sharedPattern.findAllSteps(text));
      const results: (number[] | undefined)[] = texts.map(() => undefined);
      const rest = texts.flatMap((_, index) => Array<number>(200).fill(index));
      for (const position of [...order, ...rest]) {
        const step = results[position] === undefined ? searches[position]?.next() : undefined;
        if (step?.done === true) results[position] = step.value;
      }
      expect(results).toEqual(expected);
    }),
    { numRuns: 10 },
  );
});

test("a search that fails as too complex does not affect another search with the same pattern", () => {
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
