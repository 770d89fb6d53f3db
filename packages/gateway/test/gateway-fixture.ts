import { afterEach } from "vitest";
import {
  findLeaks,
  startTestGateway,
  upstreamToml,
  type TestGatewayOptions,
  type TestGateway,
} from "./test-gateway.ts";
import {
  scriptedUpstream,
  type UpstreamScript,
  type ScriptedUpstream,
} from "./scripted-upstream.ts";

const openResources: { close(): Promise<void> }[] = [];
const upstreams: ScriptedUpstream[] = [];
const gateways: TestGateway[] = [];

afterEach(async () => {
  for (const one of openResources.splice(0).toReversed()) await one.close();
  // In every test: no secret was logged, and no client's token was sent upstream.
  const upstreamRequests = upstreams.splice(0).flatMap(({ requests }) => requests);
  const leaks = gateways.splice(0).flatMap((gateway) => findLeaks(gateway, upstreamRequests));
  if (leaks.length > 0) throw new Error(`a secret is where it should not be:\n${leaks.join("\n")}`);
});

export interface GatewayFixture {
  upstream: ScriptedUpstream;
  gateway: TestGateway;
}

/** A gateway with one upstream, `up`, that follows the script. Both are closed after the test. */
export async function gatewayFixture(
  script: UpstreamScript,
  {
    upstream: settings = {},
    toml = "",
    hold,
    ...options
  }: {
    upstream?: Record<string, string | number | string[]>;
    toml?: string;
    hold?: Promise<void>;
  } & TestGatewayOptions = {},
): Promise<GatewayFixture> {
  const upstream = await testUpstream(script, hold === undefined ? {} : { readAfter: hold });
  const up = upstreamToml("up", upstream.url, { api_key: "key-of-up-0123456789", ...settings });
  const gateway = await testGateway(`${toml}\n${up}`, options);
  return { upstream, gateway };
}

export async function testUpstream(
  ...args: Parameters<typeof scriptedUpstream>
): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(...args);
  openResources.push(upstream);
  upstreams.push(upstream);
  return upstream;
}

export async function testGateway(
  ...args: Parameters<typeof startTestGateway>
): Promise<TestGateway> {
  const gateway = await startTestGateway(...args);
  openResources.push(gateway);
  gateways.push(gateway);
  return gateway;
}

export const hello = { model: "up/m", stream: true, input: "Hello" };
export const helloChat = {
  model: "up/m",
  stream: true,
  messages: [{ role: "user", content: "Hello" }],
};

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until a condition is true. Fails after thirty seconds, or after `longestMs`. */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await sleep(2);
  }
}

/**
 * Returns a count once it was the same ten times in a row. One long wait would not be enough, because the count does not
 * change either while its process is blocked.
 */
export async function waitUntilStable(count: () => number): Promise<number> {
  let last = count();
  for (let same = 0; same < 10; same += 1) {
    await sleep(50);
    if (count() === last) continue;
    last = count();
    same = -1;
  }
  return last;
}
