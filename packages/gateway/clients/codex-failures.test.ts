import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { scene, type Scene } from "../test/scene.ts";
import { beginStream, chunk, event, refuse, says } from "../test/scripted-upstream.ts";
import { codexOn } from "./codex-scene.ts";
import { loggedReplies } from "./demo-stage.ts";

type Answer = (response: ServerResponse) => void;

/** An upstream that gives one answer after the other, the last one again and again. */
function answering(...answers: Answer[]): Promise<Scene> {
  let asked = 0;
  return scene(({ path }, response) => {
    if (path.endsWith("/models")) {
      response.end('{"data":[{"id":"some-model"}]}');
      return;
    }
    asked += 1;
    answers[Math.min(asked, answers.length) - 1]?.(response);
  });
}

/** A call of Codex's shell in two pieces; the connection may break after the first, or before the finish. */
function calls(command: string, cut?: "in the arguments" | "before the finish"): Answer {
  const whole = JSON.stringify({ cmd: command });
  const half = whole.length - 1;
  return (response) => {
    const id = `call_${command.replaceAll(/\W/g, "")}`;
    const head = { name: "exec_command", arguments: whole.slice(0, half) };
    const tail = { arguments: whole.slice(half) };
    beginStream(response);
    response.write(
      event(
        chunk({
          role: "assistant",
          tool_calls: [{ index: 0, id, type: "function", function: head }],
        }),
      ),
    );
    if (cut === "in the arguments") {
      setTimeout(() => response.destroy(), 50);
      return;
    }
    response.write(event(chunk({ tool_calls: [{ index: 0, function: tail }] })));
    if (cut === "before the finish") {
      setTimeout(() => response.destroy(), 50);
      return;
    }
    response.write(event(chunk({}, "tool_calls")));
    response.end(event("[DONE]"));
  };
}

const cutInText: Answer = (response) => {
  beginStream(response);
  response.write(event(chunk({ role: "assistant", content: "The answer is" })));
  setTimeout(() => response.destroy(), 50);
};

const limited: Answer = (response) =>
  refuse(
    response,
    429,
    { message: "Rate limit reached", code: "rate_limit_exceeded" },
    { "retry-after": "1" },
  );

const noRetries = "request_max_retries = 0\nstream_max_retries = 0";

describe("a stream that is cut", () => {
  test("in the middle of text is asked for again, and the end is right", async () => {
    const { gateway } = await answering(cutInText, (response) => says(response, "It is 42."));
    const codex = await codexOn(gateway, "some-model");
    const turn = await codex.exec("What is the answer?");
    expect(turn.messages.at(-1)).toBe("It is 42.");
    expect(turn.errors).toEqual([
      expect.stringMatching(/^Reconnecting\.\.\. 1\/5 .*broke before it had finished the reply/),
    ]);
    expect(turn.exitCode).toBe(0);
    expect(loggedReplies(gateway).map(({ failure }) => failure)).toEqual([
      "upstream_stream_truncated",
      undefined,
    ]);
  });

  test.each(["in the arguments", "before the finish"] as const)(
    "%s of a call runs nothing twice and nothing by half, and leaves no trace",
    async (cut) => {
      const { gateway, upstream } = await answering(
        calls("echo cut >> ran.txt", cut),
        calls("echo whole >> ran.txt"),
        (response) => says(response, "Done."),
      );
      const codex = await codexOn(gateway, "some-model");
      const turn = await codex.exec("Do it.");
      expect(await codex.read("ran.txt")).toBe("whole\n");
      expect(turn.commands).toHaveLength(1);
      expect(turn.messages.at(-1)).toBe("Done.");
      expect(turn.exitCode).toBe(0);
      const asked = upstream.requests.filter(({ method }) => method === "POST");
      expect(asked.map(({ body }) => JSON.stringify(body).includes("echo cut"))).toEqual([
        false,
        false,
        false,
      ]);
    },
  );

  test("each time ends in a clear error, and nothing has run", async () => {
    const { gateway, upstream } = await answering(calls("echo cut >> ran.txt", "in the arguments"));
    const codex = await codexOn(gateway, "some-model", { provider: "stream_max_retries = 2" });
    const turn = await codex.exec("Do it.");
    expect(existsSync(join(codex.cwd, "ran.txt"))).toBe(false);
    expect(turn.commands).toEqual([]);
    expect(turn.errors.at(-1)).toMatch(/broke before it had finished the reply/);
    expect(turn.exitCode).toBe(1);
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(3);
  });
});

describe("an upstream that answers 429", () => {
  test("for a moment is asked again by the gateway, and Codex hears nothing of it", async () => {
    const { gateway } = await answering(limited, (response) => says(response, "Here I am."));
    const codex = await codexOn(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.messages).toEqual(["Here I am."]);
    expect(turn.errors).toEqual([]);
    expect(loggedReplies(gateway)).toEqual([expect.objectContaining({ attempts: 2, status: 200 })]);
  });

  test("for longer than the gateway tries is waited for by Codex", async () => {
    const { gateway } = await answering(limited, limited, limited, (response) =>
      says(response, "Here I am."),
    );
    const codex = await codexOn(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.messages).toEqual(["Here I am."]);
    expect(turn.exitCode).toBe(0);
    expect(loggedReplies(gateway).map(({ status }) => status)).toEqual([429, 200]);
  });

  test("because the quota is used up ends in a clear text at once", async () => {
    const { gateway, upstream } = await answering((response) =>
      refuse(response, 429, {
        message: "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota",
        code: "insufficient_quota",
      }),
    );
    const codex = await codexOn(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toBe("Quota exceeded. Check your plan and billing details.");
    expect(turn.exitCode).toBe(1);
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });
});

describe("what cannot be answered", () => {
  test("for it overflows the context stops Codex with a clear text", async () => {
    const { gateway, upstream } = await answering((response) =>
      refuse(response, 400, {
        message:
          "This model's maximum context length is 8000 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
        type: "invalid_request_error",
        code: "context_length_exceeded",
      }),
    );
    const codex = await codexOn(gateway, "some-model");
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toMatch(/ran out of room in the model's context window/);
    expect(turn.exitCode).toBe(1);
    expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("for the model is not there names the model", async () => {
    const { gateway } = await answering((response) =>
      refuse(response, 404, {
        message: "The model `nobody` does not exist",
        code: "model_not_found",
      }),
    );
    const codex = await codexOn(gateway, "nobody", { provider: noRetries });
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toMatch(/The model `nobody` does not exist/);
    expect(turn.exitCode).toBe(1);
  });

  test("for the upstream fails says how it failed", async () => {
    const { gateway } = await answering((response) =>
      refuse(response, 500, { message: "CUDA out of memory" }),
    );
    const codex = await codexOn(gateway, "some-model", { provider: noRetries });
    const turn = await codex.exec("Hello");
    expect(turn.errors.at(-1)).toMatch(
      /502 Bad Gateway: upstream "up" answered 500: CUDA out of memory/,
    );
    expect(turn.exitCode).toBe(1);
  });
});
