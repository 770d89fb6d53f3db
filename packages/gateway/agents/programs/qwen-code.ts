import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getClientFolder } from "../../../../test/install-clients.ts";
import type { Agent } from "../agent.ts";
import { wires, type Wire } from "../wires.ts";

const authTypes = { chat: "openai", responses: "openai-responses", messages: "anthropic" };

const settings = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
};

/** The upstreams that require reasoning which qwen-code does not return when it resumes, by its API. */
const lossyUpstreams: Readonly<Record<Wire, readonly Wire[]>> = {
  chat: ["responses", "messages"],
  responses: ["chat"],
  messages: [],
};

const resumeReason =
  "without the reasoning of the first turn: qwen-code rewrites its first message when it resumes, so that the gateway does not recognize the conversation, and returns only the text of reasoning on Chat, and only sealed reasoning on Responses";

export const qwenCodeAgents: Agent[] = wires.map((wire) => ({
  name: "qwen-code",
  wire,
  set: "qwen-code",
  limits: {
    resume: { kind: "loses-reasoning", upstreams: lossyUpstreams[wire], reason: resumeReason },
  },
  async configure({ home }) {
    await mkdir(join(home, ".qwen"));
    await writeFile(join(home, ".qwen", "settings.json"), JSON.stringify(settings));
  },
  buildCommand(prompt, { url, model }, isResumed) {
    const prefix = wire === "messages" ? "ANTHROPIC" : "OPENAI";
    return {
      program: process.execPath,
      commandArguments: [
        join(
          getClientFolder("qwen-code"),
          "node_modules",
          "@qwen-code",
          "qwen-code",
          "cli-entry.js",
        ),
        "--auth-type",
        authTypes[wire],
        "-y",
        ...(isResumed ? ["--continue"] : []),
        prompt,
      ],
      env: {
        [`${prefix}_BASE_URL`]: wire === "messages" ? url : `${url}/v1`,
        [`${prefix}_API_KEY`]: "local",
        [`${prefix}_MODEL`]: model,
        QWEN_CODE_SUPPRESS_YOLO_WARNING: "1",
      },
    };
  },
}));
