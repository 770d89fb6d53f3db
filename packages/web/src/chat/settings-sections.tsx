import { useId, useMemo } from "react";
import { Input, Select, Switch, TextArea } from "../parts/field.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { ModelPicker } from "./model-picker.tsx";
import { SettingField, SettingGroup, type SectionProps } from "./setting-field.tsx";
import { effortIn, limitNames, resultPolicies } from "./settings-form.ts";
import { settingsWords } from "./settings-words.ts";
import { answererIn, choicesToPick, type Choice } from "./who-answers.tsx";

/** Who answers, and how. */
export function AnswerSettings({ form, choices, defaults, set, field, text }: SectionProps) {
  const words = useWords(settingsWords);
  const offered = useMemo(() => (choices === undefined ? [] : choicesToPick(choices)), [choices]);
  const answerer = choices === undefined ? undefined : answererIn(form.who, choices);
  const efforts = answerer?.model?.efforts ?? [];
  const options = defaults?.options ?? {};
  const usual = (name: string) => {
    const value = options[name];
    return typeof value === "number" ? words.usual(String(value)) : words.ofModel;
  };
  const usualEffort = effortIn(options);
  return (
    <>
      <SettingField label={words.who} hint={words.whoHint} {...field("who")}>
        <ModelPicker
          label={words.who}
          shown={answerer?.name ?? words.none}
          icon={answerer?.is === "agent" ? "people" : undefined}
          choices={offered}
          chosen={form.who}
          className="input chat-setting-picker"
          onChoose={(who) => set("who", who)}
        />
      </SettingField>
      <SettingField
        label={words.instructions}
        hint={words.instructionsHint}
        {...field("instructions")}
      >
        <TextArea
          dir="auto"
          rows={8}
          placeholder={defaults?.instructions || words.usual(words.none)}
          value={form.instructions ?? ""}
          onChange={({ currentTarget: { value } }) =>
            // Where something is configured, an empty text is a setting of its own.
            set("instructions", value === "" && !defaults?.instructions ? undefined : value)
          }
        />
      </SettingField>
      <div className="chat-settings-row">
        {(efforts.length > 0 || form.effort !== "") && (
          <SettingField label={words.effort} {...field("effort")}>
            <Select {...text("effort")}>
              <option value="">
                {usualEffort === undefined ? words.effortUsual : words.usual(usualEffort)}
              </option>
              {union(efforts, form.effort === "" ? [] : [form.effort]).map((effort) => (
                <option key={effort} value={effort}>
                  {effort}
                </option>
              ))}
            </Select>
          </SettingField>
        )}
        <SettingField label={words.temperature} {...field("temperature")}>
          <Input inputMode="decimal" placeholder={usual("temperature")} {...text("temperature")} />
        </SettingField>
        <SettingField label={words.maxTokens} {...field("maxTokens")}>
          <Input
            inputMode="numeric"
            placeholder={usual("max_output_tokens")}
            {...text("maxTokens")}
          />
        </SettingField>
      </div>
      <SettingField
        label={words.otherOptions}
        hint={words.otherOptionsHint}
        {...field("otherOptions")}
      >
        <TextArea
          className="chat-settings-json"
          rows={4}
          spellCheck={false}
          placeholder={Object.keys(options).length === 0 ? "{}" : JSON.stringify(options)}
          {...text("otherOptions")}
        />
      </SettingField>
    </>
  );
}

/** What the model may call, and how far it may go. */
export function ToolSettings(props: SectionProps) {
  const { form, choices, defaults, errorAt, change, set, field } = props;
  const words = useWords(settingsWords);
  const format = useFormat();
  const groups = form.toolGroups ?? defaults?.tool_groups ?? [];
  const skills = form.skills ?? defaults?.skills ?? [];
  const known = choices?.skills ?? [];
  // What the chat names and the gateway no longer has can still be switched off.
  const offeredGroups = union(choices?.tool_groups ?? [], groups);
  const offeredSkills = union(
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
        {...field("toolGroups")}
      >
        <div className="chat-settings-switches">
          {offeredGroups.map((group) => (
            <Switch
              key={group}
              label={group}
              checked={groups.includes(group)}
              onChange={(on) => set("toolGroups", toggled(groups, group, on))}
            />
          ))}
        </div>
      </SettingGroup>
      <SettingGroup
        label={words.skills}
        hint={offeredSkills.length === 0 ? words.noSkills : undefined}
        {...field("skills")}
      >
        {offeredSkills.map((skill) => (
          <div key={skill} className="chat-settings-skill">
            <Switch
              label={skill}
              checked={skills.includes(skill)}
              onChange={(on) => set("skills", toggled(skills, skill, on))}
            />
            <small dir="auto">{aboutSkill(skill)}</small>
          </div>
        ))}
      </SettingGroup>
      <SettingField label={words.results} hint={words.resultsHint} {...field("results")}>
        <Select
          value={form.results ?? ""}
          onChange={({ currentTarget: { value } }) =>
            set(
              "results",
              resultPolicies.find((one) => one === value),
            )
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
            const setLimit = (value: string) =>
              change(`limits.${name}`, { limits: { ...form.limits, [name]: value } });
            return (
              <SettingField
                key={name}
                label={words[name]}
                error={errorAt(`limits.${name}`)}
                isSaid={form.limits[name] !== ""}
                onReset={() => setLimit("")}
              >
                <Input
                  inputMode={name === "cost" ? "decimal" : "numeric"}
                  placeholder={usual === undefined ? words.notSet : words.usual(shown)}
                  value={form.limits[name]}
                  onChange={(event) => setLimit(event.currentTarget.value)}
                />
              </SettingField>
            );
          })}
        </div>
      </SettingGroup>
    </>
  );
}

/** What the model is told of the chat, and who names it. */
export function ConversationSettings({ form, choices, defaults, set, field, text }: SectionProps) {
  const words = useWords(settingsWords);
  const zonesId = useId();
  const usualNamer = defaults?.title_model ?? words.titleModelUsual;
  const namers = useMemo((): readonly Choice[] => {
    const usual: Choice = {
      id: "default",
      group: "default",
      who: {},
      name: usualNamer,
      description: "",
      model: undefined,
    };
    const models = choices === undefined ? [] : choicesToPick(choices);
    return [usual, ...models.filter(({ group }) => group === "chat")];
  }, [choices, usualNamer]);
  return (
    <>
      <SettingField label={words.turns} hint={words.turnsHint} {...field("turns")}>
        <Input
          inputMode="numeric"
          placeholder={defaults === undefined ? "" : words.usual(String(defaults.turns))}
          {...text("turns")}
        />
      </SettingField>
      <SettingField label={words.timeZone} hint={words.timeZoneHint} {...field("timeZone")}>
        <Input
          list={zonesId}
          autoComplete="off"
          spellCheck={false}
          placeholder={defaults === undefined ? "" : words.usual(defaults.time_zone)}
          {...text("timeZone")}
        />
      </SettingField>
      <datalist id={zonesId}>
        {timeZones().map((zone) => (
          <option key={zone} value={zone}>
            {zone}
          </option>
        ))}
      </datalist>
      <SettingGroup label={words.timeOfDay} {...field("exactTime")}>
        <Switch
          label={words.exactTime}
          checked={form.exactTime ?? defaults?.exact_time ?? false}
          onChange={(exactTime) => set("exactTime", exactTime)}
        />
      </SettingGroup>
      <SettingField
        label={words.titleModel}
        hint={defaults?.titles === false ? words.titlesOff : undefined}
        {...field("titleModel")}
      >
        <ModelPicker
          label={words.titleModel}
          shown={form.titleModel === "" ? words.usual(usualNamer) : form.titleModel}
          choices={namers}
          chosen={form.titleModel === "" ? {} : { model: form.titleModel }}
          className="input chat-setting-picker"
          onChoose={({ model = "" }) => set("titleModel", model)}
        />
      </SettingField>
    </>
  );
}

let zones: readonly string[] | undefined;

function timeZones(): readonly string[] {
  zones ??= Intl.supportedValuesOf("timeZone");
  return zones;
}

function union(some: readonly string[], others: readonly string[]): string[] {
  return [...new Set([...some, ...others])];
}

function toggled(names: readonly string[], name: string, on: boolean): string[] {
  const others = names.filter((each) => each !== name);
  return on ? [...others, name] : others;
}
