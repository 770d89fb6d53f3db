import type { Variables } from "@deltawire/agent";

/** The variables of one chat, named v1, v2, … */
export class MemoryVariables implements Variables {
  readonly stored = new Map<string, { value: string; call: string; tool: string; part: string }>();

  async save(value: string, { callId, tool, part }: Parameters<Variables["save"]>[1]) {
    const existing = [...this.stored].find(
      ([, entry]) => entry.call === callId && entry.part === part,
    );
    if (existing !== undefined) return existing[0];
    const name = `v${this.stored.size + 1}`;
    this.stored.set(name, { value, call: callId, tool, part });
    return name;
  }

  async list() {
    return [...this.stored].map(([name, { tool, part, value }]) => ({
      name,
      tool,
      part,
      length: value.length,
    }));
  }

  async read(name: string) {
    return this.stored.get(name)?.value;
  }

  get values(): string[] {
    return [...this.stored.values()].map(({ value }) => value);
  }
}
