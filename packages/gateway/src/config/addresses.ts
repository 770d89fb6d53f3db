import { BlockList, isIP } from "node:net";

/** Whether only this machine can reach it. A name that merely happens to lead here is not loopback. */
export function isLoopback(host: string): boolean {
  const name = bare(host);
  return name === "localhost" || name.endsWith(".localhost") || isIn(loopback, name);
}

/** Whether it stays in the house: loopback, private networks, names without a public ending. */
export function isPrivate(host: string): boolean {
  const name = bare(host);
  if (isIP(name) !== 0) return isIn(loopback, name) || isIn(privateNetworks, name);
  return !name.includes(".") || isLoopback(name) || privateEnding.test(name);
}

/** `0.0.0.0` and `::` listen everywhere; as a destination they are this machine. */
export function isUnspecified(host: string): boolean {
  return isIn(unspecified, bare(host));
}

/** Lower case, without the brackets of IPv6 and the dot that may end a name. */
export function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

const privateEnding = /\.(?:local|lan|internal|intranet|home\.arpa|test)$/;

function isIn(networks: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks.check(address, version === 4 ? "ipv4" : "ipv6");
}

function networksOf(...ranges: readonly [address: string, bits: number][]): BlockList {
  const networks = new BlockList();
  for (const [address, bits] of ranges)
    networks.addSubnet(address, bits, isIP(address) === 4 ? "ipv4" : "ipv6");
  return networks;
}

const loopback = networksOf(["127.0.0.0", 8], ["::1", 128]);
const unspecified = networksOf(["0.0.0.0", 32], ["::", 128]);
const privateNetworks = networksOf(
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["100.64.0.0", 10], // carrier-grade NAT, which Tailscale uses
  ["fc00::", 7],
  ["fe80::", 10],
);
