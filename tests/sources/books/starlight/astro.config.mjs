// @ts-check
import starlight from '@astrojs/starlight';
import { defineConfig } from 'astro/config';

const locales = {
	root: { label: 'English', lang: 'en' },
	fr: { label: 'Français', lang: 'fr' },
};

export default defineConfig({
	site: process.env.PREVIEW_URL || 'https://x.org',
	base: '/book',
	integrations: [
		starlight({
			title: { en: 'Small Book', fr: 'Petit livre' },
			defaultLocale: 'root',
			locales,
			sidebar: [
				{ label: 'Start Here', items: ['guides/start', { slug: 'guides/headings', label: 'Hard ones' }] },
				{ label: 'Reference', autogenerate: { directory: 'reference' } },
			],
		}),
	],
});
