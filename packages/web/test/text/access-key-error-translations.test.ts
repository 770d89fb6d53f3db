import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { gatewayErrorMessages } from "../../src/text/gateway-error-translations.ts";

const directory = new URL("../../../gateway/src/", import.meta.url);
const files = [
  "security/authenticator.ts",
  "security/usage-meter.ts",
  "security/metered-agent.ts",
  "http/route-scopes.ts",
];

/** What messages contain in place of each `${…}`. */
const values: Readonly<Record<string, string>> = {
  "key.name": "phone",
  name: "phone",
  model: "lab/m",
  "quoteExcerpt(agent)": '"clerk"',
  amount: "limit of 60 requests per minute",
  retryAfter: "30",
  problem: 'the access key "phone" was revoked; use another one',
  "token.slice(-4)": "abcd",
  'scopes.join(" or ")': "chats or admin",
  "new Date(end).toISOString()": "2026-01-01T00:00:00.000Z",
  "new Date(key.expiresAt ?? 0).toISOString()": "2026-01-01T00:00:00.000Z",
};

/** Returns the messages about access keys in the source files of the gateway. */
function listMessages(): string[] {
  return files.flatMap((name) => {
    const source = readFileSync(new URL(name, directory), "utf8").replace(/\/\*[^]*?\*\//g, "");
    const texts = [...source.matchAll(/`([^`]+)`|"([^"\n]+)"/g)].map(
      ([, template = "", text = ""]) => template + text,
    );
    return texts.filter((text) => /access key|; the task cannot/.test(text)).map(fillTemplate);
  });
}

function fillTemplate(template: string): string {
  return template.replace(/\$\{([^}]+)\}/g, (_match, expression: string) => {
    const value = values[expression];
    if (value === undefined) throw new Error(`add a value for \${${expression}}`);
    return value;
  });
}

const { formatError } = gatewayErrorMessages.zh;

test("every error about an access key is translated into Chinese", () => {
  const messages = listMessages();
  expect(messages.length).toBeGreaterThanOrEqual(11);
  const isTranslated = (message: string) => /^[\p{Script=Han}]/u.test(formatError(message));
  expect(messages.filter((message) => !isTranslated(message))).toEqual([]);
});

test.each([
  ["limit of 60 requests per minute", "每分钟 60 次请求的上限"],
  ["limit of 100000 tokens per day", "每天 100000 词元的上限"],
  ["budget of 2.5 per day", "每天 2.5 的预算"],
  ["budget of 50 per month", "每月 50 的预算"],
])("a reached %s is translated into Chinese", (limit, translation) => {
  const message = `the access key "phone" has reached its ${limit}, which resets at 2026-01-01T00:00:00.000Z; try again in 30 s`;
  expect(formatError(message)).toBe(
    `访问密钥“phone”已达到${translation}，将于 2026-01-01T00:00:00.000Z 重新计算。请在 30 秒后重试。`,
  );
});

test("the end of a task whose key was revoked is translated into Chinese", () => {
  const message = 'the access key "phone" was revoked; use another one; the task cannot continue';
  expect(formatError(message)).toBe("访问密钥“phone”已被撤销，请使用其他密钥。任务无法继续。");
});
