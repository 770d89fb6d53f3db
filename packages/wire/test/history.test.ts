import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mendHistory, refusesHistory, Repairs, type InputItem } from "@deltawire/wire";
import { expect, test } from "vitest";
import { slowdown } from "../../../test/work-time.ts";
import { sharedData } from "../../../test/shared-data.ts";

function mend(input: object[], stored = false, withIds = true): object[] {
  let count = 0;
  return mendHistory(input as InputItem[], {
    stored,
    repairs: new Repairs(),
    ...(withIds ? { newId: (prefix: string) => `${prefix}_new${(count += 1)}` } : {}),
  });
}

/** An upstream with OpenAI's memory: it knows which item belonged to which reasoning, and has lost old reasoning. */
function refusal(input: object[], belonged: Record<string, string>): string | undefined {
  const items = input as { id?: string; type: string; encrypted_content?: string | null }[];
  for (const [at, item] of items.entries()) {
    if (item.type === "reasoning" && !item.encrypted_content)
      return `Item with id '${item.id}' not found.`;
    const needs = belonged[item.id ?? ""];
    if (needs !== undefined && items[at - 1]?.id !== needs)
      return `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${needs}'.`;
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
const thought = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  ...more,
});

test("reasoning of an earlier turn that the upstream has lost is dropped, and its message gets another id", () => {
  const input = [
    user("What tools?"),
    thought("rs_1", { encrypted_content: null }),
    answer("msg_1"),
    user("And the time?"),
  ];
  const belonged = { msg_1: "rs_1" };
  expect(refusal(input, belonged)).toBe("Item with id 'rs_1' not found.");
  expect(refusal(mend(input), belonged)).toBeUndefined();
  expect(mend(input)).toEqual([user("What tools?"), answer("msg_new1"), user("And the time?")]);
});

test("a message whose reasoning the client has dropped gets another id", () => {
  const input = [user("What tools?"), answer("msg_1"), user("And the time?")];
  const belonged = { msg_1: "rs_1" };
  expect(refusal(input, belonged)).toContain("without its required 'reasoning' item");
  expect(refusal(mend(input), belonged)).toBeUndefined();
  expect(mend(input, false, false)).toEqual(
    [user("What tools?"), { ...answer("x"), id: undefined }, user("And the time?")].map(
      (item) => JSON.parse(JSON.stringify(item)) as object,
    ),
  );
});

test("the same for calls", () => {
  const input = [user("w?"), thought("rs_1"), call("fc_1"), result("fc_1"), user("go on")];
  expect(mend(input)).toEqual([
    user("w?"),
    { ...call("fc_1"), id: "fc_new1" },
    result("fc_1"),
    user("go on"),
  ]);
});

test("sealed reasoning stays next to what it belongs to, in every turn", () => {
  const sealed = thought("rs_1", { encrypted_content: "ENC" });
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
  expect(mend(input)).toEqual(input);
});

test("in the current turn of a stored history, reasoning stays as it is", () => {
  const input = [user("a"), thought("rs_1"), call("fc_1"), result("fc_1")];
  expect(mend(input, true)).toEqual(input);
  expect(mend(input, false)).toEqual([
    user("a"),
    { ...call("fc_1"), id: "fc_new1" },
    result("fc_1"),
  ]);
});

test("reasoning that nothing follows goes", () => {
  const sealed = thought("rs_1", { encrypted_content: "ENC" });
  expect(mend([user("a"), sealed])).toEqual([user("a")]);
  expect(mend([user("a"), sealed, user("b")])).toEqual([user("a"), user("b")]);
  expect(mend([user("a"), call("fc_1"), sealed, result("fc_1")], true)).toEqual([
    user("a"),
    call("fc_1"),
    result("fc_1"),
  ]);
});

test("sealed reasoning that the upstream cannot open goes on the second try, with what belonged to it", () => {
  const sealed = thought("rs_1", { encrypted_content: "FOREIGN" });
  const input = [user("a"), sealed, answer("msg_1"), user("b")] as InputItem[];
  const options = { stored: false, dropSealed: true, repairs: new Repairs() };
  expect(mendHistory(input, options)).toEqual([
    user("a"),
    expect.not.objectContaining({ id: "msg_1" }),
    user("b"),
  ]);
});

test("a history that was refused keeps no id without its reasoning, in the current turn either", () => {
  const input = [user("a"), call("fc_1"), result("fc_1")] as InputItem[];
  const again = { stored: true, refused: true, repairs: new Repairs() };
  expect(mendHistory(input, again)[1]).toEqual(expect.not.objectContaining({ id: "fc_1" }));
  const reasoned = [user("a"), thought("rs_1"), call("fc_1"), result("fc_1")] as InputItem[];
  expect(mendHistory(reasoned, again)).toHaveLength(3);
});

test("reasoning before an approval request, or before a stored reference, belongs to it", () => {
  const sealed = thought("rs_1", { encrypted_content: "ENC" });
  const request = { type: "mcp_approval_request", id: "mcpr_1", name: "f", arguments: "{}" };
  expect(mend([user("a"), sealed, request])).toEqual([user("a"), sealed, request]);
  const reference = { type: "item_reference", id: "msg_1" };
  expect(mend([user("a"), sealed, reference], true)).toEqual([user("a"), sealed, reference]);
});

test("a reference to an item that nobody stored goes, and is counted", () => {
  const repairs = new Repairs();
  const input = [user("a"), { type: "item_reference", id: "msg_1" }] as InputItem[];
  expect(mendHistory(input, { stored: false, repairs })).toEqual([user("a")]);
  expect(repairs.list).toEqual([
    { code: "item_skipped", choice: 0, detail: "item_reference msg_1" },
  ]);
  expect(mendHistory(input, { stored: true, repairs })).toEqual(input);
});

test("what needs no mending is the same, item by item", () => {
  const input = [user("a"), answer("msg_1"), call("fc_1"), result("fc_1")] as InputItem[];
  const mended = mendHistory(input, { stored: false, repairs: new Repairs() });
  mended.forEach((item, at) => expect(item).toBe(input[at]));
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
])("%s", (message, refused) => {
  expect(refusesHistory({ error: { message } })).toBe(refused);
  expect(refusesHistory(message)).toBe(refused);
});

const seeds = sharedData("seeds");

test.skipIf(seeds.isMissing)(
  "both inputs printed in document 004 are refused as they are, and accepted when mended",
  () => {
    const file = readdirSync(seeds.path).find((name) => name.startsWith("004")) ?? "";
    const page = readFileSync(join(seeds.path, file), "utf8");
    const printed = [...page.matchAll(/^\[$[^]*?^\]$/gm)]
      .slice(0, 2)
      .map(([text]) => JSON.parse(text) as object[]);
    const answered = (input: object[]) =>
      (input as { id?: string; role?: string }[]).find(
        ({ role, id }) => role === "assistant" && id,
      );
    expect(printed).toHaveLength(2);
    const outcomes = printed.map((input) => {
      const belonged = { [answered(input)?.id ?? ""]: "rs_of_the_earlier_turn" };
      return [refusal(input, belonged) !== undefined, refusal(mend(input), belonged)];
    });
    expect(outcomes).toEqual([
      [true, undefined],
      [true, undefined],
    ]);
  },
);

test("much reasoning in a row takes time that grows with its length only", () => {
  const history = (count: number) => [
    user("Think."),
    ...Array.from({ length: count }, (_, nth) => thought(`rs_${nth}`, { encrypted_content: "x" })),
    answer("msg_1"),
  ];
  const [eighth, whole] = [history(5_000), history(40_000)];
  expect(mend(whole)).toHaveLength(whole.length);
  expect(
    slowdown(
      () => mend(eighth),
      () => mend(whole),
    ),
  ).toBeLessThan(4);
});
