import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { gatewayFixture, type GatewayFixture } from "../test/gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  sendError,
  streamText,
} from "../test/scripted-upstream.ts";
import { startCodex } from "./codex-fixture.ts";
import { parseLoggedReplies } from "./demo-fixture.ts";

type Answer = (response: ServerResponse) => void;

/** Starts an upstream that sends one reply after the other, and repeats the last one. */
function startScriptedUpstream(...answers: Answer[]): Promise<GatewayFixture> {
  let requestCount = 0;
  return gatewayFixture(({ path }, response) => {
    if (path.endsWith("/models")) {
      response.end('{"data":[{"id":"some-model"}]}');
      return;
    }
    requestCount += 1;
    answers[Math.min(requestCount, answers.length) - 1]?.(response);
  });
}

/** A call of Codex's shell in two parts; the connection may break after the first, or before the finish. */
function shellCall(command: string, cut?: "in the arguments" | "before the finish"): Answer {
  const callArguments = JSON.stringify({ cmd: command });
  const half = callArguments.length - 1;
  return (response) => {
    const id = `call_${command.replaceAll(/\W/g, "")}`;
    const head = { name: "exec_command", arguments: callArguments.slice(0, half) };
    const tail = { arguments: callArguments.slice(half) };
    beginStream(response);
    response.write(
      formatEvent(
        chatChunk({
          role: "assistant",
          tool_calls: [{ index: 0, id, type: "function", function: head }],
        }),
      ),
    );
    if (cut === "in the arguments") {
      setTimeout(() => response.destroy(), 50);
      return;
    }
    response.write(formatEvent(chatChunk({ tool_calls: [{ index: 0, function: tail }] })));
    if (cut === "before the finish") {
      setTimeout(() => response.destroy(), 50);
      return;
    }
    response.write(formatEvent(chatChunk({}, "tool_calls")));
    response.end(formatEvent("[DONE]"));
  };
}

const cutInText: Answer = (response) => {
  beginStream(response);
  response.write(formatEvent(chatChunk({ role: "assistant", content: "The answer is" })));
  setTimeout(() => response.destroy(), 50);
};

const limited: Answer = (response) =>
  sendError(
    response,
    429,
    { message: "Rate limit reached", code: "rate_limit_exceeded" },
    { "retry-after": "1" },
  );

const noRetries = "request_max_retries = 0\nstream_max_retries = 0";

describe("a stream that is cut off", () => {
  test("in the middle of text is retried, and the result is right", async () => {
    const { gateway } = await startScriptedUpstream(cutInText, (response) =>
      streamText(response, "It is 42."),
    );
    const codex = await startCodex(gateway, "some-model");
    const turn = await codex.exec("What is the answer?");
    expect(turn.messages.at(-1)).toBe("It is 42.");
    expect(turn.errors).toEqual([
      expect.stringMatching(/^Reconnecting\.\.\. 1\/5 .*was lost before the reply was finished/),
    ]);
    expect(turn.exitCode).toBe(0);
    expect(parseLoggedReplies(gateway).map(({ failure }) => failure)).toEqual([
      "upstream_stream_truncated",
      undefined,
    ]);
  });

  test.each(["in the arguments", "before the finish"] as const)(
    "%s of a call runs nothing twice or incompletely, and leaves no trace",
    async (cut) => {
      const { gateway, upstream } = await startScriptedUpstream(
        shellCall("echo cut >> ran.txt", cut),
        shellCall("echo whole >> ran.txt"),
        (response) => streamText(response, "Done."),
      );
      const codex = await startCodex(gateway, "some-model");
      const turn = await codex.exec("Do it.");
      expect(await codex.read("ran.txt")).toBe("whole\n");
      expect(turn.commands).toHaveLength(1);
      expect(turn.messages.at(-1)).toBe("Done.");
      expect(turn.exitCode).toBe(0);
      const requestCount = upstream.requests.filter(({ method }) => method === "POST");
      expect(requestCount.map(({ body }) => JSON.stringify(body).includes("echo cut"))).toEqual([
        false,
        false,
        false,
      ]);
    },
  );

  test("every time ends with a clear error, and nothing has run", async () => {
    const { gateway, upstream } = await startScriptedUpstream(
      shellCall("echo cut >> ran.txt", "in the arguments"),
    );
    const codex = await startCodex(gateway, "some-model", { provider: "stream_max_retries = 2" });
    const turn = await codex.exec("Do it.");
    expect(existsSync(join(codex.cwd, "ran.txt"))).toBe(false);
    expect(turn.commands).toEqual([]);
    expect(turn.errors.at(-1)).toMatch(/was lost before the reply was finished/);
    expect(turn.exitCode).toBe(1);
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(3);
  });
});

describe("an upstream that replies 429", () => {
  test("for a moment is retried by the gateway, unnoticed by Codex", async () => {
    const { gateway } = await startScriptedUpstream(limited, (response) =>
      streamText(response, "Here I am."),
    );
    const codex = await startCodex(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.messages).toEqual(["Here I am."]);
    expect(turn.errors).toEqual([]);
    expect(parseLoggedReplies(gateway)).toEqual([
      expect.objectContaining({ attempts: 2, status: 200 }),
    ]);
  });

  test("for longer than the gateway retries is retried by Codex", async () => {
    const { gateway } = await startScriptedUpstream(limited, limited, limited, (response) =>
      streamText(response, "Here I am."),
    );
    const codex = await startCodex(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.messages).toEqual(["Here I am."]);
    expect(turn.exitCode).toBe(0);
    expect(parseLoggedReplies(gateway).map(({ status }) => status)).toEqual([429, 200]);
  });

  test("because the quota is used up ends immediately with a clear message", async () => {
    const { gateway, upstream } = await startScriptedUpstream((response) =>
      sendError(response, 429, {
        message: "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota",
        code: "insufficient_quota",
      }),
    );
    const codex = await startCodex(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toBe("Quota exceeded. Check your plan and billing details.");
    expect(turn.exitCode).toBe(1);
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });
});

describe("a request that cannot be answered", () => {
  test("because the context is too long stops Codex with a clear message", async () => {
    const { gateway, upstream } = await startScriptedUpstream((response) =>
      sendError(response, 400, {
        message:
          "This model's maximum context length is 8000 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
        type: "invalid_request_error",
        code: "context_length_exceeded",
      }),
    );
    const codex = await startCodex(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toMatch(/ran out of room in the model's context window/);
    expect(turn.exitCode).toBe(1);
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("because the model does not exist names the model", async () => {
    const { gateway } = await startScriptedUpstream((response) =>
      sendError(response, 404, {
        message: "The model `nobody` does not exist",
        code: "model_not_found",
      }),
    );
    const codex = await startCodex(gateway, "nobody", { provider: noRetries });
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toMatch(/The model `nobody` does not exist/);
    expect(turn.exitCode).toBe(1);
  });

  test("because the upstream fails says how it failed", async () => {
    const { gateway } = await startScriptedUpstream((response) =>
      sendError(response, 500, { message: "CUDA out of memory" }),
    );
    const codex = await startCodex(gateway, "some-model", { provider: noRetries });
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toMatch(
      /502 Bad Gateway: upstream "up" answered 500: CUDA out of memory/,
    );
    expect(turn.exitCode).toBe(1);
  });
});
