import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { ConfiguredAgents } from "../../src/tasks/configured-agents.ts";
import { mcpOverHttp } from "../mcp-over-http.ts";
import { read } from "../reading-config.ts";
import { newChat, sendAndEnd } from "../../../../test/chats/chat-steps.ts";
import { chatWorld } from "./chat-world.ts";

test.each([
  ["", { to: "anna@example.com" }],
  ["unmask = false", { to: expect.stringMatching(/^\{\{EMAIL_1_\w{4}\}\}$/) as string }],
])("a server of tools with %j is called with %j", async (line, called) => {
  const server = await mcpOverHttp();
  onTestFinished(() => server.close());
  const world = await chatWorld({
    toml: `[mcp.eyes]\nurl = "${server.url}"\n${line}\n`,
    script: (request, round) => {
      const [placeholder] = /\{\{EMAIL_1_\w{4}\}\}/.exec(JSON.stringify(request.input)) ?? [];
      return round === 0 ? [{ call: "eyes__look", args: { to: placeholder } }] : [{ text: "Ok" }];
    },
  });
  const chat = await newChat(world, {
    tool_groups: ["eyes"],
    privacy: { enabled: true, fields: [{ kind: "email" }] },
  });
  const answer = await sendAndEnd(world, chat, "Write to anna@example.com");
  expect(answer.status).toBe("completed");
  expect(server.got).toEqual([called]);
  expect(world.models.bodies.join("")).not.toContain("anna@");
  // People see the value, whatever the tool got.
  expect(JSON.stringify(answer.output)).toContain("anna@example.com");
});

test("a built-in group that says so gets no private values, and the others do", async () => {
  const folder = JSON.stringify(tmpdir());
  const config = read(
    `[tools.files]\nfolder = ${folder}\nunmask = false\n[tools.shell]\nunmask = false\n[tools.web]\nunmask = false\n[tools.time]\n`,
  );
  const agents = new ConfiguredAgents({ config, builtIn: [], ownFiles: [], warn: () => undefined });
  onTestFinished(() => agents.close());
  const unmaskOf = async (group: string): Promise<(false | undefined)[]> => {
    const asked = { model: "demo/clean", tool_groups: [group] };
    const { tools } = await agents.agentFor(asked, { recovered: false });
    const each = tools.flatMap((one) => ("tools" in one ? one.tools : [one]));
    return [...new Set(each.map(({ unmask }) => unmask))];
  };
  for (const group of ["files", "shell", "web"]) expect(await unmaskOf(group)).toEqual([false]);
  expect(await unmaskOf("time")).toEqual([undefined]);
});

test("what is said of a group that is not there names those that can be used", async () => {
  const groupsOf = async (toml: string, group: string): Promise<unknown> => {
    const agents = new ConfiguredAgents({
      config: read(toml),
      builtIn: [],
      ownFiles: [],
      warn: () => undefined,
    });
    onTestFinished(() => agents.close());
    return agents.agentFor({ model: "m", tool_groups: [group] }, { recovered: false });
  };
  await expect(groupsOf("", "browser")).rejects.toThrow(
    /^there is no tool group "browser"; there are web, time(, agents)?$/,
  );
  const files = `[tools.files]\nfolder = ${JSON.stringify(tmpdir())}\n`;
  await expect(groupsOf(files, "browser")).rejects.toThrow(/there are files, shell, web, time/);
  await expect(groupsOf("", "shell")).rejects.toThrow(/"shell" has no folder/);
});
