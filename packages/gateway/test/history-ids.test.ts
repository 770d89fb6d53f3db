import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { gatewayFixture } from "./gateway-fixture.ts";
import { sendError } from "./scripted-upstream.ts";
import { sendReply } from "./wire-replies.ts";

/* Decision 18: an item that followed reasoning gets a new id if that reasoning is not sent back. */

const user = (content: string) => ({ type: "message", role: "user", content });
const reasoning = (id: string, encrypted?: string) => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text: "hm" }],
  ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
});
const message = (id: string) => ({
  type: "message",
  id,
  role: "assistant",
  content: [{ type: "output_text", text: "Hi", annotations: [] }],
});
const call = (id: string, callId: string) => ({
  type: "function_call",
  id,
  call_id: callId,
  name: "f",
  arguments: "{}",
});
const result = (callId: string) => ({
  type: "function_call_output",
  call_id: callId,
  output: "ok",
});

async function sent(
  input: object[],
  { rejects = false, store = true } = {},
): Promise<JsonObject[]> {
  const { gateway, upstream } = await gatewayFixture(
    ({ body }, response) => {
      if (rejects && JSON.stringify(body).includes("msg_old"))
        return sendError(response, 400, {
          message:
            "Item 'msg_old' of type 'message' was provided without its required 'reasoning' item: 'rs_old'.",
        });
      sendReply("responses", response, body, { text: ["fine"] });
    },
    { upstream: { speaks: "responses" } },
  );
  const request = { model: "up/m", stream: true, store, input };
  const response = await gateway.post("/responses", request);
  expect(response.status).toBe(200);
  await response.text();
  return upstream.requests.at(-1)?.body["input"] as JsonObject[];
}

const fresh = (prefix: string) =>
  expect.stringMatching(new RegExp(`^${prefix}_(?!old)\\w{8,}$`)) as string;

test("earlier reasoning without encrypted_content is removed; the item after it gets a new id", async () => {
  const input = [
    user("One"),
    reasoning("rs_old"),
    message("msg_old"),
    user("Two"),
    reasoning("rs_old2"),
    call("fc_old", "call_abcdef"),
    result("call_abcdef"),
    user("Three"),
  ];
  expect(await sent(input)).toEqual([
    user("One"),
    { ...message(""), id: fresh("msg") },
    user("Two"),
    { ...call("", "call_abcdef"), id: fresh("fc") },
    result("call_abcdef"),
    user("Three"),
  ]);
});

test("in the current turn of a stored history, reasoning and ids are preserved", async () => {
  const input = [
    user("One"),
    reasoning("rs_now"),
    call("fc_now", "call_abcdef"),
    result("call_abcdef"),
  ];
  expect(await sent(input)).toEqual(input);
});

test("reasoning without a following item is removed", async () => {
  expect(await sent([user("One"), reasoning("rs_last")])).toEqual([user("One")]);
});

test("a history with sealed reasoning is not changed", async () => {
  const input = [user("One"), reasoning("rs_old", "gAAA"), message("msg_old"), user("Two")];
  expect(await sent(input, { store: false })).toEqual(input);
});

test("a rejected history is sent again with new, unique ids", async () => {
  const input = [user("One"), message("msg_old"), user("Two"), message("msg_old2"), user("Three")];
  const items = await sent(input, { rejects: true });
  expect(items).toEqual([
    user("One"),
    { ...message(""), id: fresh("msg") },
    user("Two"),
    { ...message(""), id: fresh("msg") },
    user("Three"),
  ]);
  expect(items[1]?.["id"]).not.toBe(items[3]?.["id"]);
});
