import { isIP } from "node:net";

/**
 * True if an IP address is on the public internet: not this machine, a private network, a cloud's metadata service, or
 * reserved. IPv6 uses a list of allowed ranges, IPv4 one of forbidden ranges (IANA's special-purpose address registries).
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return isPublicIpv4(parseIpv4(address));
    case 6:
      return isPublicIpv6(parseIpv6Groups(address));
    default:
      return false;
  }
}

const nonPublicIpv4Ranges: readonly (readonly [network: string, bits: number])[] = [
  ["0.0.0.0", 8], // this host
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT, and Alibaba's metadata
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's host, in a public range
  ["169.254.0.0", 16], // link-local, and the metadata of most clouds
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

function isPublicIpv4(address: number): boolean {
  return nonPublicIpv4Ranges.every(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) !== Math.floor(parseIpv4(network) / size);
  });
}

function parseIpv4(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function isPublicIpv6(groups: readonly number[] | undefined): boolean {
  if (groups === undefined) return false;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const embeddedIpv4 = g * 65536 + h;
  // ::ffff:10.0.0.1 is 10.0.0.1, and so is 64:ff9b::10.0.0.1 in networks with NAT64 (RFC 6052).
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff)
    return isPublicIpv4(embeddedIpv4);
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0)
    return isPublicIpv4(embeddedIpv4);
  if (a < 0x2000 || a > 0x3fff) return false; // only 2000::/3 is global
  if (a === 0x2001 && b < 0x200) return false; // Teredo and other protocols
  if (a === 0x2001 && b === 0xdb8) return false; // documentation
  if (a === 0x2002) return false; // 6to4, with any IPv4 address inside
  return !(a === 0x3fff && b < 0x1000); // documentation
}

/** Returns the eight groups of an address; undefined for one with a zone (`fe80::1%eth0`), which no URL can contain. */
function parseIpv6Groups(address: string): number[] | undefined {
  if (!URL.canParse(`http://[${address}]`)) return undefined;
  const { hostname } = new URL(`http://[${address}]`); // normalized, without dots
  const [headText = "", tailText] = hostname.slice(1, -1).split("::");
  const parseGroups = (text: string | undefined): number[] =>
    text === undefined || text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
  const head = parseGroups(headText);
  const tail = parseGroups(tailText);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}
