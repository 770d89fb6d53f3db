import {
  mendedResponsesRequest,
  responsesRequest,
  type ChatRequest,
  type InputItem,
  type MendedResponsesRequestOptions,
  type ResponsesFlags,
  type ResponsesRequest,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";

const user: InputItem = { type: "message", role: "user", content: "Go." };
const answer = (id: string): InputItem => ({
  type: "message",
  id,
  role: "assistant",
  content: "Gone.",
});
const reasoning = (id: string, encrypted_content?: string): InputItem => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text: "hm" }],
  ...(encrypted_content === undefined ? {} : { encrypted_content }),
});
const isOwnEnvelope = (encrypted: string) => encrypted.startsWith("dw.");

function mend(request: ResponsesRequest, options: MendedResponsesRequestOptions = {}) {
  const before = structuredClone(request);
  const { body, repairs } = mendedResponsesRequest(request, options);
  expect(request).toEqual(before);
  return { body, said: repairs.list.map(({ code, detail }) => `${code} ${detail}`) };
}

describe("a request to an upstream of the same wire", () => {
  const sealed = [user, reasoning("rs_1", "ENC"), answer("msg_1"), user];

  test.each<[string, ResponsesRequest]>([
    ["a text", { model: "m", input: "Hi" }],
    ["no input", { model: "m", previous_response_id: "resp_1" }],
    ["reasoning under the upstream's seal", { model: "m", input: sealed, store: false }],
    ["no reasoning", { model: "m", input: [user, answer("msg_1"), user], x_own: 1 }],
    [
      "reasoning that the upstream keeps, in this turn",
      { model: "m", input: [user, reasoning("rs_1"), answer("msg_1")] },
    ],
  ])("with %s is the same object", (_what, request) => {
    const { body, said } = mend(request, { isOwnEnvelope });
    expect(body).toBe(request);
    expect(said).toEqual([]);
    expect(mend(request, { upstreamModel: "m" }).body).toBe(request);
  });

  test("goes under the upstream's name of the model, and as a stream or not, its items untouched", () => {
    const request: ResponsesRequest = { model: "alias", input: sealed, stream: true };
    const { body } = mend(request, { upstreamModel: "m", stream: false });
    expect(body).toEqual({ model: "m", input: sealed, stream: false });
    expect(body.input).toBe(request.input);
  });

  test("loses reasoning without a seal, and what followed it its id", () => {
    const input = [user, reasoning("rs_1"), answer("msg_1"), user];
    const { body, said } = mend({ model: "m", input, store: false });
    expect(body.input).toEqual([
      user,
      { type: "message", role: "assistant", content: "Gone." },
      user,
    ]);
    expect(said).toEqual(["reasoning_dropped rs_1", "item_id_renewed msg_1"]);
  });

  test("loses reasoning under our own seal, which only a Chat upstream of ours can use, in every turn", () => {
    const own = [
      user,
      reasoning("rs_1", "dw.sealed"),
      answer("msg_1"),
      user,
      reasoning("rs_2", "dw.sealed"),
      answer("msg_2"),
    ];
    for (const store of [true, false]) {
      const { body, said } = mend({ model: "m", input: own, store }, { isOwnEnvelope });
      expect(JSON.stringify(body.input)).not.toMatch(/dw\.|rs_|msg_/);
      expect(body.input).toHaveLength(4);
      expect(said).toHaveLength(4);
    }
    const mixed = [user, reasoning("rs_1", "ENC"), answer("msg_1"), ...own];
    const { body } = mend({ model: "m", input: mixed, store: false }, { isOwnEnvelope });
    expect((body.input as InputItem[]).slice(0, 3)).toEqual(mixed.slice(0, 3));
  });

  test("keeps no id without its reasoning, and no seal, where the upstream has refused them", () => {
    const input = [user, answer("msg_1")];
    expect(mend({ model: "m", input }, { refusedHistory: true }).body.input).toEqual([
      user,
      { type: "message", role: "assistant", content: "Gone." },
    ]);
    const opened = mend({ model: "m", input: sealed }, { refusedHistory: true, dropSealed: true });
    expect(JSON.stringify(opened.body)).not.toContain("ENC");
  });
});

describe("what a Responses upstream has refused", () => {
  const flags: [string, ResponsesFlags, object, object][] = [
    ["a parameter", { droppedParameters: ["user"] }, { user: "u" }, {}],
    [
      "a part of one",
      { droppedParameters: ["reasoning.summary"] },
      { reasoning: { effort: "low", summary: "auto" } },
      { reasoning: { effort: "low" } },
    ],
    [
      "the only part of one",
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
      "an effort",
      { efforts: ["low", "high"] },
      { reasoning: { effort: "xhigh" } },
      { reasoning: { effort: "high" } },
    ],
    ["to keep responses", { extraBody: { store: false } }, { store: true }, { store: false }],
  ];

  test.each(flags)("is not asked for: %s", (_what, options, asked, sent) => {
    const base = { model: "m", input: "Hi" };
    expect(mend({ ...base, ...asked }, options).body).toEqual({ ...base, ...sent });
  });

  test.each(flags)("leaves a request alone that has none of it: %s", (_what, options) => {
    const request: ResponsesRequest = { model: "m", input: [user], store: false };
    const { body, said } = mend(request, options);
    expect(body).toBe(request);
    expect(said).toEqual([]);
  });

  test("is counted", () => {
    const request = { model: "m", input: "Hi", user: "u", reasoning: { effort: "xhigh" } };
    expect(mend(request, { droppedParameters: ["user", "x"], efforts: ["high"] }).said).toEqual([
      "parameter_dropped user",
      "parameter_changed reasoning.effort: xhigh -> high",
    ]);
  });

  test("is not asked for a Chat client either", () => {
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
    const { body, repairs } = responsesRequest(request, {
      droppedParameters: ["user", "include"],
      efforts: ["high"],
      extraBody: { stream: true },
      refusedHistory: true,
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

  test("a tool of a kind that Chat does not know passes", () => {
    const own = { type: "web_search" } as unknown as NonNullable<ChatRequest["tools"]>[number];
    const { body } = responsesRequest({ model: "m", messages: [], tools: [own] });
    expect(body.tools).toEqual([own]);
  });
});
