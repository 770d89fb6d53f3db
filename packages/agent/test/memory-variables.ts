import type { Variables } from "@deltawire/agent";

/** The variables of one chat, named v1, v2, … */
export class MemoryVariables implements Variables {
  readonly kept = new Map<string, { value: string; call: string; tool: string; part: string }>();

  async keep(value: string, { callId, tool, part }: Parameters<Variables["keep"]>[1]) {
    const same = [...this.kept].find(([, one]) => one.call === callId && one.part === part);
    if (same !== undefined) return same[0];
    const name = `v${this.kept.size + 1}`;
    this.kept.set(name, { value, call: callId, tool, part });
    return name;
  }

  async list() {
    return [...this.kept].map(([name, { tool, part, value }]) => ({
      name,
      tool,
      part,
      length: value.length,
    }));
  }

  async read(name: string) {
    return this.kept.get(name)?.value;
  }

  get values(): string[] {
    return [...this.kept.values()].map(({ value }) => value);
  }
}
