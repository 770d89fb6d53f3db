import { Input, Select, Switch } from "../parts/field.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { SettingField, SettingGroup, type SectionProps } from "./setting-field.tsx";
import { limitNames, resultPolicies } from "./settings-form.ts";
import { settingsWords } from "./settings-words.ts";

/** What the model may call, and how far it may go. */
export function ToolSettings({ form, choices, defaults, errorAt, change }: SectionProps) {
  const words = useWords(settingsWords);
  const format = useFormat();
  const groups = form.toolGroups ?? defaults?.tool_groups ?? [];
  const skills = form.skills ?? defaults?.skills ?? [];
  const offeredGroups = withGone(choices?.tool_groups ?? [], groups);
  const known = choices?.skills ?? [];
  const offeredSkills = withGone(
    known.map(({ name }) => name),
    skills,
  );
  const aboutSkill = (name: string) => {
    const skill = known.find((each) => each.name === name);
    return skill?.always === true ? words.skillAlways : (skill?.when ?? skill?.description ?? "");
  };
  const resultsWhen = {
    never: words.resultsNever,
    "on error": words.resultsOnError,
    always: words.resultsAlways,
  };
  return (
    <>
      <SettingGroup
        label={words.toolGroups}
        hint={offeredGroups.length === 0 ? words.noToolGroups : words.toolGroupsHint}
        error={errorAt("tool_groups")}
        isSaid={form.toolGroups !== undefined}
        onReset={() => change("tool_groups", { toolGroups: undefined })}
      >
        <div className="chat-settings-switches">
          {offeredGroups.map((group) => (
            <Switch
              key={group}
              label={group}
              checked={groups.includes(group)}
              onChange={(on) => change("tool_groups", { toolGroups: toggled(groups, group, on) })}
            />
          ))}
        </div>
      </SettingGroup>
      <SettingGroup
        label={words.skills}
        hint={offeredSkills.length === 0 ? words.noSkills : undefined}
        error={errorAt("skills")}
        isSaid={form.skills !== undefined}
        onReset={() => change("skills", { skills: undefined })}
      >
        {offeredSkills.map((skill) => (
          <div key={skill} className="chat-settings-skill">
            <Switch
              label={skill}
              checked={skills.includes(skill)}
              onChange={(on) => change("skills", { skills: toggled(skills, skill, on) })}
            />
            <small dir="auto">{aboutSkill(skill)}</small>
          </div>
        ))}
      </SettingGroup>
      <SettingField
        label={words.results}
        hint={words.resultsHint}
        error={errorAt("results")}
        isSaid={form.results !== undefined}
        onReset={() => change("results", { results: undefined })}
      >
        <Select
          value={form.results ?? ""}
          onChange={({ currentTarget: { value } }) =>
            change("results", { results: resultPolicies.find((one) => one === value) })
          }
        >
          <option value="">{words.usual(resultsWhen[defaults?.results ?? "never"])}</option>
          {resultPolicies.map((policy) => (
            <option key={policy} value={policy}>
              {resultsWhen[policy]}
            </option>
          ))}
        </Select>
      </SettingField>
      <SettingGroup label={words.limits} hint={words.limitsHint}>
        <div className="chat-settings-row">
          {limitNames.map((name) => {
            const usual = defaults?.limits[name];
            const shown =
              usual !== undefined && name === "seconds" ? format.period(usual) : String(usual);
            const set = (value: string) =>
              change(`limits.${name}`, { limits: { ...form.limits, [name]: value } });
            return (
              <SettingField
                key={name}
                label={words[name]}
                error={errorAt(`limits.${name}`)}
                isSaid={form.limits[name] !== ""}
                onReset={() => set("")}
              >
                <Input
                  inputMode={name === "cost" ? "decimal" : "numeric"}
                  placeholder={usual === undefined ? words.notSet : words.usual(shown)}
                  value={form.limits[name]}
                  onChange={(event) => set(event.currentTarget.value)}
                />
              </SettingField>
            );
          })}
        </div>
      </SettingGroup>
    </>
  );
}

/** What the chat names and the gateway no longer has can still be taken out. */
function withGone(offered: readonly string[], on: readonly string[]): string[] {
  return [...new Set([...offered, ...on])];
}

function toggled(names: readonly string[], name: string, on: boolean): string[] {
  const others = names.filter((each) => each !== name);
  return on ? [...others, name] : others;
}
