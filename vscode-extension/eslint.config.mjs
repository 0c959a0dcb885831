import tseslint from "typescript-eslint";

export default tseslint.config(
    { ignores: ["dist/", "build/"] },
    tseslint.configs.strictTypeChecked,
    tseslint.configs.stylisticTypeChecked,
    {
        languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
        rules: {
            "@typescript-eslint/consistent-type-imports": "error",
            "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
        },
    },
    { files: ["**/*.mjs"], extends: [tseslint.configs.disableTypeChecked] },
    {
        files: ["test/**/*.ts"],
        // node:test gives a promise that nobody has to wait for
        rules: {
            "@typescript-eslint/no-floating-promises": [
                "error",
                {
                    allowForKnownSafeCalls: [
                        { from: "package", name: ["describe", "it", "test"], package: "node:test" },
                    ],
                },
            ],
        },
    },
);
