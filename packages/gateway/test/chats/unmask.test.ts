import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { ConfiguredAgents } from "../../src/tasks/configured-agents.ts";
import { startMcpServer } from "../mcp-http-server.ts";
import { parseToml } from "../config-fixture.ts";
import { createTestChat, sendAndWait } from "../../../../test/chats/chat-helpers.ts";
import { chatRuntimeFixture } from "./chat-runtime-fixture.ts";

test.each([
  ["", { to: "anna@example.com" }],
  ["unmask = false", { to: expect.stringMatching(/^\{\{EMAIL_1_\w{4}\}\}$/) as string }],
])("an MCP server with %j is called with %j", async (line, called) => {
  const server = await startMcpServer();
  onTestFinished(() => server.close());
  const fixture = await chatRuntimeFixture({
    toml: `[mcp.eyes]\nurl = "${server.url}"\n${line}\n`,
    script: (request, round) => {
      const [placeholder] = /\{\{EMAIL_1_\w{4}\}\}/.exec(JSON.stringify(request.input)) ?? [];
      return round === 0 ? [{ call: "eyes__look", args: { to: placeholder } }] : [{ text: "Ok" }];
    },
  });
  const chat = await createTestChat(fixture, {
    tool_groups: ["eyes"],
    privacy: { enabled: true, fields: [{ kind: "email" }] },
  });
  const answer = await sendAndWait(fixture, chat, "Write to anna@example.com");
  expect(answer.status).toBe("completed");
  expect(server.receivedArguments).toEqual([called]);
  expect(fixture.models.bodies.join("")).not.toContain("anna@");
  // Users always see the value.
  expect(JSON.stringify(answer.output)).toContain("anna@example.com");
});

test("a built-in group with unmask = false gets no private values, the others do", async () => {
  const folder = JSON.stringify(tmpdir());
  const config = parseToml(
    `[tools.files]\nfolder = ${folder}\nunmask = false\n[tools.shell]\nunmask = false\n[tools.web]\nunmask = false\n[tools.time]\n`,
  );
  const agents = new ConfiguredAgents({
    config,
    builtInAgents: [],
    protectedPaths: [],
    warn: () => undefined,
  });
  onTestFinished(() => agents.close());
  const listUnmaskSettings = async (group: string): Promise<(false | undefined)[]> => {
    const agentRequest = { model: "demo/clean", tool_groups: [group] };
    const { tools } = await agents.resolveAgent(agentRequest, { recovered: false });
    const each = tools.flatMap((one) => ("tools" in one ? one.tools : [one]));
    return [...new Set(each.map(({ unmask }) => unmask))];
  };
  for (const group of ["files", "shell", "web"])
    expect(await listUnmaskSettings(group)).toEqual([false]);
  expect(await listUnmaskSettings("time")).toEqual([undefined]);
});

test("the error about an unknown tool group names the usable ones", async () => {
  const resolveGroup = async (toml: string, group: string): Promise<unknown> => {
    const agents = new ConfiguredAgents({
      config: parseToml(toml),
      builtInAgents: [],
      protectedPaths: [],
      warn: () => undefined,
    });
    onTestFinished(() => agents.close());
    return agents.resolveAgent({ model: "m", tool_groups: [group] }, { recovered: false });
  };
  await expect(resolveGroup("", "browser")).rejects.toThrow(
    /^unknown tool group "browser"; available: web, time(, agents)?$/,
  );
  const files = `[tools.files]\nfolder = ${JSON.stringify(tmpdir())}\n`;
  await expect(resolveGroup(files, "browser")).rejects.toThrow(
    /available: files, shell, web, time/,
  );
  await expect(resolveGroup("", "shell")).rejects.toThrow(/"shell" has no folder/);
});
