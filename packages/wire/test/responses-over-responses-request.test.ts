import {
  repairResponsesRequest,
  translateChatRequest,
  type ChatRequest,
  type ResponseInputItem,
  type RepairResponsesRequestOptions,
  type ResponsesFlags,
  type ResponsesRequest,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";

const user: ResponseInputItem = { type: "message", role: "user", content: "Go." };
const answer = (id: string): ResponseInputItem => ({
  type: "message",
  id,
  role: "assistant",
  content: "Gone.",
});
const reasoning = (id: string, encrypted_content?: string): ResponseInputItem => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text: "hm" }],
  ...(encrypted_content === undefined ? {} : { encrypted_content }),
});
const isOwnSeal = (encrypted: string) => encrypted.startsWith("dw.");

function repair(request: ResponsesRequest, options: RepairResponsesRequestOptions = {}) {
  const before = structuredClone(request);
  const { body, repairs } = repairResponsesRequest(request, options);
  expect(request).toEqual(before);
  return { body, repairLog: repairs.list.map(({ code, detail }) => `${code} ${detail}`) };
}

describe("a Responses request to a Responses upstream", () => {
  const sealed = [user, reasoning("rs_1", "ENC"), answer("msg_1"), user];

  test.each<[string, ResponsesRequest]>([
    ["a string as input", { model: "m", input: "Hi" }],
    ["a previous_response_id and no input", { model: "m", previous_response_id: "resp_1" }],
    ["reasoning that the upstream encrypted", { model: "m", input: sealed, store: false }],
    ["answers without reasoning", { model: "m", input: [user, answer("msg_1"), user], x_own: 1 }],
    [
      "stored reasoning in the current turn",
      { model: "m", input: [user, reasoning("rs_1"), answer("msg_1")] },
    ],
  ])("with %s stays the same object", (_title, request) => {
    const { body, repairLog } = repair(request, { isOwnSeal });
    expect(body).toBe(request);
    expect(repairLog).toEqual([]);
    expect(repair(request, { upstreamModel: "m" }).body).toBe(request);
  });

  test("gets the upstream's model name and stream setting, and its items are not changed", () => {
    const request: ResponsesRequest = { model: "alias", input: sealed, stream: true };
    const { body } = repair(request, { upstreamModel: "m", stream: false });
    expect(body).toEqual({ model: "m", input: sealed, stream: false });
    expect(body.input).toBe(request.input);
  });

  test("loses unencrypted reasoning of earlier turns, and the ids of the items after it", () => {
    const input = [user, reasoning("rs_1"), answer("msg_1"), user];
    const { body, repairLog } = repair({ model: "m", input, store: false });
    expect(body.input).toEqual([
      user,
      { type: "message", role: "assistant", content: "Gone." },
      user,
    ]);
    expect(repairLog).toEqual(["reasoning_dropped rs_1", "item_id_renewed msg_1"]);
  });

  test("loses reasoning that the gateway sealed for a Chat upstream, in every turn", () => {
    const ownSealed = [
      user,
      reasoning("rs_1", "dw.sealed"),
      answer("msg_1"),
      user,
      reasoning("rs_2", "dw.sealed"),
      answer("msg_2"),
    ];
    for (const store of [true, false]) {
      const { body, repairLog } = repair({ model: "m", input: ownSealed, store }, { isOwnSeal });
      expect(JSON.stringify(body.input)).not.toMatch(/dw\.|rs_|msg_/);
      expect(body.input).toHaveLength(4);
      expect(repairLog).toHaveLength(4);
    }
    const mixed = [user, reasoning("rs_1", "ENC"), answer("msg_1"), ...ownSealed];
    const { body } = repair({ model: "m", input: mixed, store: false }, { isOwnSeal });
    expect((body.input as ResponseInputItem[]).slice(0, 3)).toEqual(mixed.slice(0, 3));
  });

  test("loses item ids and encrypted reasoning after the upstream rejected them", () => {
    const input = [user, answer("msg_1")];
    expect(repair({ model: "m", input }, { rejectsHistory: true }).body.input).toEqual([
      user,
      { type: "message", role: "assistant", content: "Gone." },
    ]);
    const withoutSealed = repair(
      { model: "m", input: sealed },
      { rejectsHistory: true, dropSealed: true },
    );
    expect(JSON.stringify(withoutSealed.body)).not.toContain("ENC");
  });
});

describe("a part of a request that a Responses upstream has rejected", () => {
  const flags: [string, ResponsesFlags, object, object][] = [
    ["a parameter", { droppedParameters: ["user"] }, { user: "u" }, {}],
    [
      "a field of a parameter",
      { droppedParameters: ["reasoning.summary"] },
      { reasoning: { effort: "low", summary: "auto" } },
      { reasoning: { effort: "low" } },
    ],
    [
      "the only field of a parameter",
      { droppedParameters: ["reasoning.summary"] },
      { reasoning: { summary: "auto" } },
      {},
    ],
    [
      "a field of all items",
      { droppedParameters: ["input[].id"] },
      { input: [user, answer("msg_1")] },
      { input: [user, { type: "message", role: "assistant", content: "Gone." }] },
    ],
    [
      "a reasoning effort",
      { efforts: ["low", "high"] },
      { reasoning: { effort: "xhigh" } },
      { reasoning: { effort: "high" } },
    ],
    ["store", { extraBody: { store: false } }, { store: true }, { store: false }],
    [
      "an additional_tools item",
      { hoistTools: true },
      { input: [{ type: "additional_tools", tools: [{ type: "custom", name: "c" }] }, user] },
      { input: [user], tools: [{ type: "custom", name: "c" }] },
    ],
  ];

  test.each(flags)("is not sent again: %s", (_title, options, requested, sent) => {
    const base = { model: "m", input: "Hi" };
    expect(repair({ ...base, ...requested }, options).body).toEqual({ ...base, ...sent });
  });

  test.each(flags)("does not affect a request without it: %s", (_title, options) => {
    const request: ResponsesRequest = { model: "m", input: [user], store: false };
    const { body, repairLog } = repair(request, options);
    expect(body).toBe(request);
    expect(repairLog).toEqual([]);
  });

  test("is recorded as a repair when it is omitted", () => {
    const request = { model: "m", input: "Hi", user: "u", reasoning: { effort: "xhigh" } };
    expect(
      repair(request, { droppedParameters: ["user", "x"], efforts: ["high"] }).repairLog,
    ).toEqual(["parameter_dropped user", "parameter_changed reasoning.effort: xhigh -> high"]);
  });

  test("is not sent for a Chat client either", () => {
    const request: ChatRequest = {
      model: "m",
      messages: [
        { role: "user", content: "Go." },
        {
          role: "assistant",
          content: "Gone.",
          reasoning_details: [
            { type: "reasoning.encrypted", data: "ENC", format: "openai-responses-v1", id: "rs_1" },
          ],
        },
        { role: "user", content: "Go." },
      ],
      reasoning_effort: "xhigh",
      user: "u",
    };
    const { body, repairs } = translateChatRequest(request, {
      droppedParameters: ["user", "include"],
      efforts: ["high"],
      extraBody: { stream: true },
      rejectsHistory: true,
      dropSealed: true,
    });
    expect(body).toEqual({
      model: "m",
      input: [
        { type: "message", role: "user", content: "Go." },
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "Gone.", annotations: [] }],
        },
        { type: "message", role: "user", content: "Go." },
      ],
      store: false,
      reasoning: { effort: "high" },
      stream: true,
    });
    expect([...repairs.counts.keys()].toSorted()).toEqual([
      "parameter_changed",
      "parameter_dropped",
      "reasoning_dropped",
    ]);
  });
});

test("a tool from a Chat client that exists only in the Responses API is sent unchanged", () => {
  const webSearch = { type: "web_search" } as unknown as NonNullable<ChatRequest["tools"]>[number];
  const { body } = translateChatRequest({ model: "m", messages: [], tools: [webSearch] });
  expect(body.tools).toEqual([webSearch]);
});
