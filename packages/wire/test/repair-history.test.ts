import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  repairHistory,
  isHistoryRejection,
  Repairs,
  type ResponseInputItem,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { measureSlowdown } from "../../../test/cpu-time.ts";
import { sharedData } from "../../../test/shared-data.ts";

function repair(input: object[], stored = false, withIds = true): object[] {
  let count = 0;
  return repairHistory(input as ResponseInputItem[], {
    stored,
    repairs: new Repairs(),
    ...(withIds ? { newId: (prefix: string) => `${prefix}_new${(count += 1)}` } : {}),
  });
}

/**
 * Returns why OpenAI would reject an input. It knows which reasoning belongs to which item, and has lost old reasoning.
 */
function findRejection(
  input: object[],
  reasoningByItem: Record<string, string>,
): string | undefined {
  const items = input as { id?: string; type: string; encrypted_content?: string | null }[];
  for (const [index, item] of items.entries()) {
    if (item.type === "reasoning" && !item.encrypted_content)
      return `Item with id '${item.id}' not found.`;
    const reasoningId = reasoningByItem[item.id ?? ""];
    if (reasoningId !== undefined && items[index - 1]?.id !== reasoningId)
      return `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${reasoningId}'.`;
  }
  return undefined;
}

const user = (text: string) => ({ type: "message", role: "user", content: text });
const answer = (id: string) => ({
  type: "message",
  role: "assistant",
  id,
  content: [{ type: "output_text", text: "…" }],
});
const call = (id: string) => ({
  type: "function_call",
  id,
  call_id: `call_${id}`,
  name: "f",
  arguments: "{}",
});
const result = (id: string) => ({
  type: "function_call_output",
  call_id: `call_${id}`,
  output: "ok",
});
const reasoningItem = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  ...more,
});

test("reasoning of an earlier turn that the upstream lost is dropped, and its message gets another id", () => {
  const input = [
    user("What tools?"),
    reasoningItem("rs_1", { encrypted_content: null }),
    answer("msg_1"),
    user("And the time?"),
  ];
  const reasoningByItem = { msg_1: "rs_1" };
  expect(findRejection(input, reasoningByItem)).toBe("Item with id 'rs_1' not found.");
  expect(findRejection(repair(input), reasoningByItem)).toBeUndefined();
  expect(repair(input)).toEqual([user("What tools?"), answer("msg_new1"), user("And the time?")]);
});

test("a message whose reasoning the client dropped gets another id", () => {
  const input = [user("What tools?"), answer("msg_1"), user("And the time?")];
  const reasoningByItem = { msg_1: "rs_1" };
  expect(findRejection(input, reasoningByItem)).toContain("without its required 'reasoning' item");
  expect(findRejection(repair(input), reasoningByItem)).toBeUndefined();
  expect(repair(input, false, false)).toEqual(
    [user("What tools?"), { ...answer("x"), id: undefined }, user("And the time?")].map(
      (item) => JSON.parse(JSON.stringify(item)) as object,
    ),
  );
});

test("a call whose reasoning the client dropped gets another id", () => {
  const input = [user("w?"), reasoningItem("rs_1"), call("fc_1"), result("fc_1"), user("go on")];
  expect(repair(input)).toEqual([
    user("w?"),
    { ...call("fc_1"), id: "fc_new1" },
    result("fc_1"),
    user("go on"),
  ]);
});

test("sealed reasoning is kept next to its item in every turn", () => {
  const sealed = reasoningItem("rs_1", { encrypted_content: "ENC" });
  const input = [
    user("a"),
    sealed,
    answer("msg_1"),
    user("b"),
    { ...sealed, id: "rs_2" },
    call("fc_1"),
    call("fc_2"),
    result("fc_1"),
    result("fc_2"),
  ];
  expect(repair(input)).toEqual(input);
});

test("reasoning in the current turn of a stored history is not changed", () => {
  const input = [user("a"), reasoningItem("rs_1"), call("fc_1"), result("fc_1")];
  expect(repair(input, true)).toEqual(input);
  expect(repair(input, false)).toEqual([
    user("a"),
    { ...call("fc_1"), id: "fc_new1" },
    result("fc_1"),
  ]);
});

test("reasoning without a following item is dropped", () => {
  const sealed = reasoningItem("rs_1", { encrypted_content: "ENC" });
  expect(repair([user("a"), sealed])).toEqual([user("a")]);
  expect(repair([user("a"), sealed, user("b")])).toEqual([user("a"), user("b")]);
  expect(repair([user("a"), call("fc_1"), sealed, result("fc_1")], true)).toEqual([
    user("a"),
    call("fc_1"),
    result("fc_1"),
  ]);
});

test("on the second attempt, sealed reasoning that the upstream cannot decrypt is dropped, and so are the ids of its items", () => {
  const sealed = reasoningItem("rs_1", { encrypted_content: "FOREIGN" });
  const input = [user("a"), sealed, answer("msg_1"), user("b")] as ResponseInputItem[];
  const options = { stored: false, dropSealed: true, repairs: new Repairs() };
  expect(repairHistory(input, options)).toEqual([
    user("a"),
    expect.not.objectContaining({ id: "msg_1" }),
    user("b"),
  ]);
});

test("after a rejection, items without reasoning lose their ids, even in the current turn", () => {
  const input = [user("a"), call("fc_1"), result("fc_1")] as ResponseInputItem[];
  const secondAttempt = { stored: true, wasRejected: true, repairs: new Repairs() };
  expect(repairHistory(input, secondAttempt)[1]).toEqual(
    expect.not.objectContaining({ id: "fc_1" }),
  );
  const withReasoning = [
    user("a"),
    reasoningItem("rs_1"),
    call("fc_1"),
    result("fc_1"),
  ] as ResponseInputItem[];
  expect(repairHistory(withReasoning, secondAttempt)).toHaveLength(3);
});

test("reasoning before an approval request or a stored reference is kept", () => {
  const sealed = reasoningItem("rs_1", { encrypted_content: "ENC" });
  const request = { type: "mcp_approval_request", id: "mcpr_1", name: "f", arguments: "{}" };
  expect(repair([user("a"), sealed, request])).toEqual([user("a"), sealed, request]);
  const reference = { type: "item_reference", id: "msg_1" };
  expect(repair([user("a"), sealed, reference], true)).toEqual([user("a"), sealed, reference]);
});

test("a reference to an unknown item is dropped, with a repair", () => {
  const repairs = new Repairs();
  const input = [user("a"), { type: "item_reference", id: "msg_1" }] as ResponseInputItem[];
  expect(repairHistory(input, { stored: false, repairs })).toEqual([user("a")]);
  expect(repairs.list).toEqual([
    { code: "item_skipped", choice: 0, detail: "item_reference msg_1" },
  ]);
  expect(repairHistory(input, { stored: true, repairs })).toEqual(input);
});

test("valid items are returned unchanged", () => {
  const input = [user("a"), answer("msg_1"), call("fc_1"), result("fc_1")] as ResponseInputItem[];
  const repaired = repairHistory(input, { stored: false, repairs: new Repairs() });
  repaired.forEach((item, index) => expect(item).toBe(input[index]));
});

test.each([
  ["Item with id 'rs_1' not found.", true],
  ["Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", true],
  [
    "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
    true,
  ],
  ["Item 'rs_1' of type 'reasoning' was provided without its required following item.", true],
  ["The encrypted content for item rs_1 could not be verified.", true],
  ["Invalid API key", false],
])("the message %j is recognized as a rejection of the history: %s", (message, isRejection) => {
  expect(isHistoryRejection({ error: { message } })).toBe(isRejection);
  expect(isHistoryRejection(message)).toBe(isRejection);
});

const seeds = sharedData("seeds");

test.skipIf(seeds.isMissing)(
  "two real inputs are rejected unchanged and accepted after the repair",
  () => {
    const file = readdirSync(seeds.path).find((name) => name.startsWith("004")) ?? "";
    const page = readFileSync(join(seeds.path, file), "utf8");
    const inputs = [...page.matchAll(/^\[$[^]*?^\]$/gm)]
      .slice(0, 2)
      .map(([text]) => JSON.parse(text) as object[]);
    const findAnswer = (input: object[]) =>
      (input as { id?: string; role?: string }[]).find(
        ({ role, id }) => role === "assistant" && id,
      );
    expect(inputs).toHaveLength(2);
    const outcomes = inputs.map((input) => {
      const reasoningByItem = { [findAnswer(input)?.id ?? ""]: "rs_of_the_earlier_turn" };
      return [
        findRejection(input, reasoningByItem) !== undefined,
        findRejection(repair(input), reasoningByItem),
      ];
    });
    expect(outcomes).toEqual([
      [true, undefined],
      [true, undefined],
    ]);
  },
);

test("many consecutive reasoning items take linear time", () => {
  const history = (count: number) => [
    user("Think."),
    ...Array.from({ length: count }, (_, index) =>
      reasoningItem(`rs_${index}`, { encrypted_content: "x" }),
    ),
    answer("msg_1"),
  ];
  const [eighth, full] = [history(5_000), history(40_000)];
  expect(repair(full)).toHaveLength(full.length);
  expect(
    measureSlowdown(
      () => repair(eighth),
      () => repair(full),
    ),
  ).toBeLessThan(4);
});
